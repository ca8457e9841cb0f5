/// The tables of migration 6.
extension Schema {
  static let wishes = """
    CREATE TABLE wishes (
      no INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      -- null for a search in all stores
      store INTEGER REFERENCES stores (no) ON DELETE CASCADE,
      product INTEGER,
      variant INTEGER,
      search TEXT,
      -- 1 price at most, 2 percent off, 3 back in stock, 4 new match; the amount is a price or a percentage
      condition INTEGER NOT NULL,
      amount INTEGER,
      -- that of the price; null while the shop has not stated one
      currency TEXT,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      last_true_at INTEGER
    );
    CREATE INDEX wishes_by_store ON wishes (store, product);
    -- the markets of stores in which a wish was judged: the first judgement in a market is a baseline, without news
    CREATE TABLE wish_markets (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      market TEXT NOT NULL,
      wish INTEGER NOT NULL REFERENCES wishes (no) ON DELETE CASCADE,
      -- whether reads were not judged since, because the wish seemed to have expired
      is_stale INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (store, market, wish)
    ) WITHOUT ROWID;
    CREATE INDEX wish_markets_by_wish ON wish_markets (wish);
    -- the products (rows) that fulfil a wish in a market
    CREATE TABLE wish_matches (
      store INTEGER NOT NULL REFERENCES stores (no) ON DELETE CASCADE,
      market TEXT NOT NULL,
      product INTEGER NOT NULL,
      wish INTEGER NOT NULL REFERENCES wishes (no) ON DELETE CASCADE,
      since INTEGER NOT NULL,
      PRIMARY KEY (store, market, product, wish)
    ) WITHOUT ROWID;
    CREATE INDEX wish_matches_by_wish ON wish_matches (wish, store, market);
    -- the id of the wish that came true
    ALTER TABLE events ADD COLUMN wish TEXT;
    CREATE INDEX events_by_wish ON events (wish) WHERE wish IS NOT NULL;

    """
}
