public import CofferCore

/// The settings with which a store is opened.
///
/// Handles of one process that share a database file use the settings of the handle that opened it first.
public struct SQLiteConfiguration: Sendable {
  /// Whether a missing store is created; otherwise opening it throws `notFound`.
  public var createsIfMissing = true

  /// The access with which the store is opened. By default, a store that cannot be written is opened for reading only.
  public var access = Access.readWriteOrReadOnly

  /// A kind of access to a store.
  public enum Access: Hashable, Sendable {
    /// Reading and writing, with a fallback to reading.
    ///
    /// If the file or its directory cannot be written (a read-only file system, missing permissions, a full disk), an
    /// existing store is opened for reading only; see ``SQLiteEngine/isReadOnly``.
    case readWriteOrReadOnly
    /// Reading and writing; opening throws `permissionDenied` if the store cannot be written.
    case readWrite
    /// Reading only.
    ///
    /// Opening creates and writes no files, takes no lock that blocks writers, and repairs nothing. The
    /// store must exist in the current format.
    case readOnly
  }

  /// The number of commits that the journal keeps for subscribers that fall behind: at least 1, and 10,000 by default.
  ///
  /// A subscriber that falls further behind receives a request to reload. The journal also stays below 64 MiB.
  public var journalRetention = 10_000

  /// The size limit of a value in bytes, 1 GiB by default. The limit of the SQLite library applies too (just below
  /// 1,000,000,000 on Debian).
  public var maximumValueSize = 1 << 30

  /// How many milliseconds a commit waits for a write lock held by another process before it throws `busy`;
  /// 5,000 by default.
  public var busyTimeout = 5_000

  /// The clock that dates the commits in the journal and by which values expire.
  public var clock = StoreClock.system

  /// A handler that is called once for each damaged value that is found. The bytes are kept in the quarantine.
  public var onDamage: (@Sendable (DamageReport) -> Void)?

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
}

/// A report of a value whose bytes no longer match what was written.
///
/// Reading the value throws `damaged`. Its bytes are copied to the quarantine, where they stay unchanged, so writing
/// the key again loses nothing.
public struct DamageReport: Hashable, Sendable {
  /// The key of the damaged value; `nil` if a whole file with many values is damaged.
  public let key: StoreKey?
  /// The revision of the commit that wrote the value; zero for a whole file.
  public let revision: StoreRevision
  /// The number of damaged bytes.
  public let size: Int
  /// The location of the store, such as `sqlite:/var/lib/app.db`.
  public let location: String
  /// Whether a copy of the damaged file is used instead of it.
  public let isCopyUsed: Bool

  package init(key: StoreKey?, revision: StoreRevision, size: Int, location: String, isCopyUsed: Bool = false) {
    self.key = key
    self.revision = revision
    self.size = size
    self.location = location
    self.isCopyUsed = isCopyUsed
  }
}
