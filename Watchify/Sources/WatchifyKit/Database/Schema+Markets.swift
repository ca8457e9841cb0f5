/// The tables of migration 5, which keep the state of comparisons and of reported values.
extension Schema {
  static let markets = """
    -- the last request for the currency of a shop that does not state it, and the number of such requests
    ALTER TABLE stores ADD COLUMN meta_asked_at INTEGER;
    ALTER TABLE stores ADD COLUMN meta_attempts INTEGER NOT NULL DEFAULT 0;
    -- the number of reads without the variant: it counts as removed after as many as a product
    ALTER TABLE variants ADD COLUMN missing_reads INTEGER NOT NULL DEFAULT 0;
    UPDATE variants SET missing_reads = 1 WHERE missing_since IS NOT NULL;
    -- the price reported last or seen first, null if it is the current one, and the exchange rate at that time, in
    -- billionths
    ALTER TABLE variants ADD COLUMN told_price INTEGER;
    ALTER TABLE variants ADD COLUMN told_rate INTEGER NOT NULL DEFAULT 1000000000;
    -- every market in which a store was read, with its exchange rate since the first read, in billionths
    CREATE TABLE markets (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      market TEXT NOT NULL, rate INTEGER NOT NULL, read_at INTEGER NOT NULL,
      PRIMARY KEY (store, market)
    ) WITHOUT ROWID;
    INSERT INTO markets SELECT no, coalesce(read_country, '') || '/' || coalesce(currency, ''), 1000000000,
      last_fetched_at FROM stores WHERE last_fetched_at IS NOT NULL;
    -- the values of markets that are not read currently, as of their last read
    CREATE TABLE market_products (
      product INTEGER NOT NULL REFERENCES products (row) ON DELETE CASCADE,
      market TEXT NOT NULL, images TEXT NOT NULL, missing_reads INTEGER NOT NULL, is_removed INTEGER NOT NULL,
      PRIMARY KEY (product, market)
    ) WITHOUT ROWID;
    CREATE TABLE market_variants (
      product INTEGER NOT NULL REFERENCES products (row) ON DELETE CASCADE,
      variant INTEGER NOT NULL, market TEXT NOT NULL, price INTEGER NOT NULL, compare_at INTEGER,
      is_available INTEGER NOT NULL, missing_since INTEGER, missing_reads INTEGER NOT NULL, told_price INTEGER,
      told_rate INTEGER NOT NULL,
      PRIMARY KEY (product, variant, market)
    ) WITHOUT ROWID;

    """

  static let told = """
    -- the stock of a variant as last notified, and the time of that notification
    CREATE TABLE told_stock (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      product INTEGER NOT NULL, variant INTEGER NOT NULL, is_available INTEGER NOT NULL, told_at INTEGER,
      PRIMARY KEY (store, product, variant)
    ) WITHOUT ROWID;
    -- each variant's newest stock event that is not in the outbox
    INSERT INTO told_stock
      SELECT store, product, variant, type = 3,
        (SELECT max(notified_at) FROM events AS own WHERE own.store = e.store AND own.product = e.product
          AND own.variant = e.variant AND own.type IN (3, 4))
      FROM events AS e WHERE row IN (
        SELECT max(row) FROM events WHERE type IN (3, 4) AND product IS NOT NULL AND variant IS NOT NULL
          AND row NOT IN (SELECT event FROM outbox) GROUP BY store, product, variant);
    -- whether a price may have moved with the exchange rate
    ALTER TABLE events ADD COLUMN is_unsure INTEGER NOT NULL DEFAULT 0;

    """

  static let unread = """
    -- whether the event is the first of its type for a product in one read: news is counted by product, not by variant
    ALTER TABLE events ADD COLUMN is_first INTEGER NOT NULL DEFAULT 1;
    UPDATE events SET is_first = 0 WHERE product IS NOT NULL
      AND row NOT IN (SELECT min(row) FROM events WHERE product IS NOT NULL GROUP BY store, at, type, product);
    UPDATE events SET is_read = 0 WHERE is_first = 1 AND EXISTS (
      SELECT 1 FROM events AS other WHERE other.is_read = 0 AND other.store = events.store AND other.at = events.at
        AND other.type = events.type AND other.product = events.product);
    DROP TRIGGER event_added;
    DROP TRIGGER event_deleted;
    DROP TRIGGER event_read;
    DELETE FROM unread;
    INSERT INTO unread
      SELECT store, type, count(*) FROM events WHERE is_read = 0 AND is_first = 1 GROUP BY store, type;
    CREATE TRIGGER event_added AFTER INSERT ON events WHEN new.is_read = 0 AND new.is_first = 1 BEGIN
      INSERT INTO unread VALUES (new.store, new.type, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    END;
    CREATE TRIGGER event_deleted AFTER DELETE ON events WHEN old.is_read = 0 AND old.is_first = 1 BEGIN
      UPDATE unread SET count = count - 1 WHERE store = old.store AND type = old.type;
    END;
    CREATE TRIGGER event_read AFTER UPDATE OF is_read ON events
      WHEN old.is_read <> new.is_read AND new.is_first = 1
    BEGIN
      UPDATE unread SET count = count + old.is_read - new.is_read WHERE store = new.store AND type = new.type;
    END;

    """

  static let unreadable = """
    -- entries of the last read that could not be decoded: products, and variants of decoded products
    CREATE TABLE unreadable (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      product INTEGER NOT NULL, variant INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (store, product, variant)
    ) WITHOUT ROWID;
    -- entries of the listing without a readable id
    ALTER TABLE stores ADD COLUMN nameless INTEGER NOT NULL DEFAULT 0;

    """
}
