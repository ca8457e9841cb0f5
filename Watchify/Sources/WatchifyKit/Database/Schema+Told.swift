/// The tables of migration 8: what each channel has notified, and the bases of wishes.
extension Schema {
  static let toldByChannel = """
    -- the stock of a variant as last notified by a channel, and the time of that notification
    CREATE TABLE channel_stock (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      product INTEGER NOT NULL, variant INTEGER NOT NULL, channel TEXT NOT NULL,
      -- 0 sold out, 1 available, 2 either, since the outcome of a delivery is unknown
      state INTEGER NOT NULL,
      told_at INTEGER,
      -- the event that it follows, 0 if it was before all events
      row INTEGER NOT NULL,
      PRIMARY KEY (store, product, variant, channel)
    ) WITHOUT ROWID;
    -- The table before did not name the channel. For one with undelivered events it is the stock before them.
    INSERT INTO channel_stock
      SELECT t.store, t.product, t.variant, c.name, coalesce((
          SELECT e.type <> 3 FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row
          WHERE e.store = t.store AND e.product = t.product AND e.variant = t.variant AND e.type IN (3, 4)
            AND o.channel = c.name ORDER BY e.row LIMIT 1
        ), t.is_available), t.told_at, 0
      FROM told_stock AS t CROSS JOIN (
        SELECT name FROM channels UNION SELECT channel FROM outbox UNION SELECT channel FROM channel_states
        UNION SELECT channel FROM shown UNION SELECT 'desktop') AS c;
    DROP TABLE told_stock;
    -- the price that the channel notified last, if undelivered news about the price was replaced; null if it is the
    -- event's old price
    ALTER TABLE outbox ADD COLUMN base_price INTEGER;
    -- the maximum number of events of the next message, after the server refused one with more; null for any number
    ALTER TABLE outbox ADD COLUMN most INTEGER;
    -- the time whose price a percentage refers to
    ALTER TABLE wishes ADD COLUMN base_at INTEGER NOT NULL DEFAULT 0;
    UPDATE wishes SET base_at = created_at;
    -- whether more products fulfil the wish than are recorded, so that which of them are new is unknown
    ALTER TABLE wish_markets ADD COLUMN overflows INTEGER NOT NULL DEFAULT 0;
    UPDATE wish_markets SET overflows = 1 WHERE wish IN (SELECT no FROM wishes WHERE condition <> 4) AND 1000 <= (
      SELECT count(*) FROM wish_matches AS m
      WHERE m.wish = wish_markets.wish AND m.store = wish_markets.store AND m.market = wish_markets.market);
    -- the time until which the message about given-up events waits, after the server refused it
    ALTER TABLE channel_states ADD COLUMN missed_not_before INTEGER NOT NULL DEFAULT 0;

    """
}
