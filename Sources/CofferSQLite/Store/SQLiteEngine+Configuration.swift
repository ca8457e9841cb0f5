public import CofferCore

extension SQLiteEngine {
  /// The settings with which a store is opened.
  ///
  /// Handles of one process that share a database file use the settings of the handle that opened it first.
  @dynamicMemberLookup
  public struct Configuration: Sendable {
    /// The settings that every kind of store has.
    public var common = OpenSettings()

    /// The number of commits that the journal keeps for subscribers that fall behind: at least 1, and 10,000 by
    /// default.
    ///
    /// A subscriber that falls further behind receives a request to reload. The journal also stays below 64 MiB.
    public var journalRetention = 10_000

    /// The size limit of a value in bytes, 1 GiB by default. The limit of the SQLite library applies too (just below
    /// 1,000,000,000 on Debian).
    public var maximumValueSize = 1 << 30

    /// How many milliseconds a commit waits for a write lock held by another process before it throws `busy`;
    /// 5,000 by default.
    public var busyTimeout = 5_000

    /// The hook of the engine whose journal the store is. It is told about checkpoints and waiting for locks only,
    /// since the engine tells about its commits itself.
    package var journalEvents: CofferEvents?

    /// The location of the store in messages; `nil` for `sqlite:` and its path.
    package var name: String?

    /// SQL that creates the additional tables of an engine that uses the store as its journal only and keeps the values
    /// elsewhere; `nil` for a store that keeps its own values.
    package var companionTables: String?

    /// Whether expired values are removed after commits; `false` for a copy of a store, which keeps them as they are.
    package var sweepsExpiredValues = true

    /// A hook that runs on the writer between a commit and its announcement, for tests that kill the process there.
    package var afterCommit: (@Sendable (StoreRevision) -> Void)?

    /// Creates a configuration with the default settings.
    public init() {}

    /// The members of ``common``.
    @inlinable public subscript<Value>(dynamicMember member: WritableKeyPath<OpenSettings, Value>) -> Value {
      get { common[keyPath: member] }
      set { common[keyPath: member] = newValue }
    }
  }
}

extension SQLiteEngine.Configuration {
  /// The hook for what the store does by itself.
  var storeEvents: CofferEvents? { common.events ?? journalEvents }
}
