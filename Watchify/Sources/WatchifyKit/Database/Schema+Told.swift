/// The tables of migration 8: what each channel has notified, and the bases of wishes.
extension Schema {
  static let toldByChannel = """
    -- the stock of a variant as last notified by a channel, and the time of that notification
    CREATE TABLE channel_stock (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      product INTEGER NOT NULL, variant INTEGER NOT NULL, channel TEXT NOT NULL, is_available INTEGER NOT NULL,
      told_at INTEGER,
      PRIMARY KEY (store, product, variant, channel)
    ) WITHOUT ROWID;
    -- the table before did not name the channel
    INSERT INTO channel_stock
      SELECT t.store, t.product, t.variant, c.name, t.is_available, t.told_at FROM told_stock AS t CROSS JOIN (
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

    """
}
