/// The tables of migrations 8 and 10: what each channel has notified, and the bases of wishes.
extension Schema {
  static let toldByChannel = """
    -- the time at which a channel last notified of a variant's stock
    CREATE TABLE stock_told (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      product INTEGER NOT NULL, variant INTEGER NOT NULL, channel TEXT NOT NULL, told_at INTEGER NOT NULL,
      PRIMARY KEY (store, product, variant, channel)
    ) WITHOUT ROWID;
    -- The table before did not name the channel.
    INSERT INTO stock_told
      SELECT t.store, t.product, t.variant, c.name, t.told_at FROM told_stock AS t CROSS JOIN (
        SELECT name FROM channels UNION SELECT channel FROM outbox UNION SELECT channel FROM channel_states
        UNION SELECT channel FROM shown UNION SELECT 'desktop') AS c
      WHERE t.told_at IS NOT NULL;
    DROP TABLE told_stock;
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
    -- the number of messages that were refused for good since the last success
    ALTER TABLE channel_states ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE outbox DROP COLUMN attempts;

    """

  static let lateFailures = """
    -- the number of failed deliveries of the event since it was so old that they let it be given up
    ALTER TABLE outbox ADD COLUMN late_failures INTEGER NOT NULL DEFAULT 0;

    """
}
