/// The tables of migration 7: the channels that were added by name, and the state of each channel.
extension Schema {
  static let channels = """
    -- no address and no password: they lie in the store for secrets, under the id of the row
    CREATE TABLE channels (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      -- the host to which it delivers, for display
      host TEXT NOT NULL,
      -- options without secrets, as JSON
      options TEXT NOT NULL,
      -- the minute of the day of a daily digest, null for immediate delivery
      digest INTEGER,
      added_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE channel_states (
      channel TEXT NOT NULL PRIMARY KEY,
      last_success INTEGER,
      last_failure INTEGER,
      -- the reason of the last failure, and the number of failures since the last success
      reason TEXT,
      failures INTEGER NOT NULL DEFAULT 0,
      -- the end of the pause after a failure
      not_before INTEGER NOT NULL DEFAULT 0,
      -- the number of events that were given up, of which the next message states how many; a delivery of that message
      -- claims it
      missed INTEGER NOT NULL DEFAULT 0,
      missed_claimed_at INTEGER
    ) WITHOUT ROWID;
    -- the number of deliveries of the event that began and whose outcome is unknown
    ALTER TABLE outbox ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;

    """
}
