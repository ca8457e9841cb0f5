import CofferSQLite

/// The schema of Watchify's database. Dates are milliseconds since 1970, prices ten-thousandths of a unit. Never change
/// a released migration.
enum Schema {
  static let migrations = [
    SQLiteDatabase.Migration("1 stores and products") { transaction in try transaction.execute(stores + products) },
    SQLiteDatabase.Migration("2 events and outbox") { transaction in try transaction.execute(events + outbox) },
    SQLiteDatabase.Migration("3 rests of single shops") { transaction in try transaction.execute(rests) },
    SQLiteDatabase.Migration("4 page validators") { transaction in try transaction.execute(validators) },
    SQLiteDatabase.Migration("5 markets and what was told") { transaction in
      try transaction.execute(markets + told + unread + unreadable)
    },
    SQLiteDatabase.Migration("6 wishes") { transaction in try transaction.execute(wishes) },
    SQLiteDatabase.Migration("7 channels") { transaction in try transaction.execute(channels) },
    SQLiteDatabase.Migration("8 what each channel told") { transaction in try transaction.execute(toldByChannel) },
    SQLiteDatabase.Migration("9 numbers of products") { transaction in try transaction.execute(counts) },
    SQLiteDatabase.Migration("10 failures of old news") { transaction in try transaction.execute(lateFailures) },
    SQLiteDatabase.Migration("11 unread news is counted once for each sync") { transaction in
      try transaction.execute("DROP TRIGGER event_added")  // `EventRows` counts what it inserts.
    },
  ]

  private static let stores = """
    CREATE TABLE stores (
      no INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      domain TEXT NOT NULL UNIQUE,
      shopify_domain TEXT,
      added_at INTEGER NOT NULL,
      last_attempt_at INTEGER,
      last_fetched_at INTEGER,
      -- the error of the last attempt, as JSON; null after a success
      last_error TEXT,
      is_closed INTEGER NOT NULL DEFAULT 0,
      -- the market: the country to request, the country last read, the currency last served, the shop's own currency
      country TEXT,
      read_country TEXT,
      currency TEXT,
      base_currency TEXT,
      headers TEXT NOT NULL DEFAULT '[]',
      -- the number of syncs, so that one that was prepared concurrently with another is prepared again
      generation INTEGER NOT NULL DEFAULT 0
    );
    -- one row: the end of the pause of all shops, and the number of consecutive refusals
    CREATE TABLE rest (one INTEGER PRIMARY KEY CHECK (one = 1), until INTEGER NOT NULL, refusals INTEGER NOT NULL);

    """

  private static let products = """
    CREATE TABLE products (
      row INTEGER PRIMARY KEY,
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      id INTEGER NOT NULL,
      title TEXT NOT NULL,
      folded_title TEXT NOT NULL,
      handle TEXT NOT NULL,
      vendor TEXT,
      type TEXT,
      published_at INTEGER,
      first_seen_at INTEGER NOT NULL,
      price INTEGER NOT NULL,
      is_available INTEGER NOT NULL,
      images TEXT NOT NULL,
      missing_since INTEGER,
      missing_reads INTEGER NOT NULL DEFAULT 0,
      is_removed INTEGER NOT NULL DEFAULT 0,
      UNIQUE (store, id)
    );
    CREATE INDEX products_by_title ON products (store, is_removed, folded_title, row, is_available);
    CREATE INDEX products_by_price ON products (store, is_removed, price, row, is_available);
    CREATE INDEX products_by_date ON products (store, is_removed, published_at, row, is_available);
    -- kept in sync by CatalogueRows: without a trusted schema, a trigger cannot write to a virtual table
    CREATE VIRTUAL TABLE product_titles USING fts5 (
      folded_title, content = 'products', content_rowid = 'row', tokenize = 'trigram case_sensitive 1'
    );
    CREATE TABLE variants (
      product INTEGER NOT NULL REFERENCES products (row) ON DELETE CASCADE,
      id INTEGER NOT NULL,
      title TEXT NOT NULL,
      sku TEXT,
      price INTEGER NOT NULL,
      compare_at INTEGER,
      is_available INTEGER NOT NULL,
      position INTEGER NOT NULL,
      -- country and currency of its values: "US/USD"
      market TEXT NOT NULL,
      missing_since INTEGER,
      PRIMARY KEY (product, id)
    ) WITHOUT ROWID;
    -- the values of a variant from a time on; the first row is from its first read
    CREATE TABLE snapshots (
      product INTEGER NOT NULL REFERENCES products (row) ON DELETE CASCADE,
      variant INTEGER NOT NULL,
      at INTEGER NOT NULL,
      price INTEGER NOT NULL,
      compare_at INTEGER,
      is_available INTEGER NOT NULL,
      currency TEXT,
      PRIMARY KEY (product, variant, at)
    ) WITHOUT ROWID;
    CREATE INDEX snapshots_by_date ON snapshots (at);

    """

  private static let events = """
    CREATE TABLE events (
      row INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      at INTEGER NOT NULL,
      type INTEGER NOT NULL,
      magnitude TEXT NOT NULL,
      product INTEGER,
      product_title TEXT NOT NULL,
      variant INTEGER,
      variant_title TEXT,
      old_price INTEGER,
      new_price INTEGER,
      currency TEXT,
      old_text TEXT,
      new_text TEXT,
      is_read INTEGER NOT NULL DEFAULT 0,
      -- the time at which a channel accepted it
      notified_at INTEGER
    );
    -- each index ends with the row id, which is in the order of time
    CREATE INDEX events_by_date ON events (at);
    CREATE INDEX events_by_type ON events (type);
    CREATE INDEX events_by_store ON events (store, type);
    CREATE INDEX events_by_store_only ON events (store);
    CREATE INDEX events_by_variant ON events (store, product, variant);
    CREATE INDEX events_unread_rows ON events (row) WHERE is_read = 0;
    CREATE INDEX events_unread_by_store_only ON events (store, row) WHERE is_read = 0;
    CREATE INDEX events_unread_by_store ON events (store, type, row) WHERE is_read = 0;
    CREATE INDEX events_unread_by_type ON events (type, row) WHERE is_read = 0;
    -- the number of unread events, so that counting takes the same time with a million events
    CREATE TABLE unread (
      store INTEGER NOT NULL, type INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (store, type)
    ) WITHOUT ROWID;
    CREATE TRIGGER event_added AFTER INSERT ON events WHEN new.is_read = 0 BEGIN
      INSERT INTO unread VALUES (new.store, new.type, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    END;
    CREATE TRIGGER event_deleted AFTER DELETE ON events WHEN old.is_read = 0 BEGIN
      UPDATE unread SET count = count - 1 WHERE store = old.store AND type = old.type;
    END;
    CREATE TRIGGER event_read AFTER UPDATE OF is_read ON events WHEN old.is_read <> new.is_read BEGIN
      UPDATE unread SET count = count + old.is_read - new.is_read WHERE store = new.store AND type = new.type;
    END;

    """

  private static let validators = """
    -- the validators of the pages of a store's last complete read, as JSON, and the requested country
    CREATE TABLE validators (
      store INTEGER PRIMARY KEY REFERENCES stores (no) ON DELETE CASCADE,
      at INTEGER NOT NULL,
      country TEXT,
      pages TEXT NOT NULL
    );

    """

  private static let outbox = """
    -- the events that a channel has not delivered yet; a row is deleted after its delivery
    CREATE TABLE outbox (
      channel TEXT NOT NULL,
      event INTEGER NOT NULL REFERENCES events (row) ON DELETE CASCADE,
      store INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      attempts INTEGER NOT NULL DEFAULT 0,
      -- the delivery in progress and its start; the claim of a process that died is taken over
      claim TEXT,
      claimed_at INTEGER,
      not_before INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (channel, event)
    ) WITHOUT ROWID;
    CREATE INDEX outbox_by_event ON outbox (event);
    -- the displayed notification of a store, with the number that the notification server assigned
    CREATE TABLE shown (
      channel TEXT NOT NULL, thread TEXT NOT NULL, server TEXT NOT NULL, number INTEGER NOT NULL,
      PRIMARY KEY (channel, thread)
    ) WITHOUT ROWID;

    """

  private static let counts = """
    -- the number of products that do not count as removed: every page states it, and counting takes time for each shop
    ALTER TABLE stores ADD COLUMN product_count INTEGER NOT NULL DEFAULT 0;
    UPDATE stores SET product_count = (SELECT count(*) FROM products WHERE store = no AND is_removed = 0);

    """

  private static let rests = """
    -- the end of each shop's pause, by address; the empty address stands for all shops. Rows of ended pauses remain, so
    -- that other processes detect the end. The table before had no address.
    CREATE TABLE rests (
      shop TEXT NOT NULL PRIMARY KEY, until INTEGER NOT NULL, refusals INTEGER NOT NULL, since INTEGER NOT NULL
    ) WITHOUT ROWID;
    DROP TABLE rest;

    """
}
