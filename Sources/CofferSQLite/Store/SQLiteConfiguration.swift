public import CofferCore

/// How a store is opened. The settings of the first open in a process hold for all that share it.
public struct SQLiteConfiguration: Sendable {
  /// Whether a missing store is created; otherwise opening it throws `notFound`.
  public var createsIfMissing = true

  /// Whether the store is opened for writing.
  public var access = Access.readWriteOrReadOnly

  /// What a store is opened for.
  public enum Access: Hashable, Sendable {
    /// Reading and writing. Where the file or its directory cannot be written (a read-only file system, missing
    /// rights, a full disk), an existing store is opened for reading only, as ``SQLiteEngine/isReadOnly`` tells.
    case readWriteOrReadOnly
    /// Reading and writing; opening throws `permissionDenied` where that cannot be.
    case readWrite
    /// Reading only. Nothing is written, made or locked that others would notice, and nothing is mended: the store must
    /// exist, in the present format.
    case readOnly
  }

  /// How many commits the journal keeps for subscribers that fall behind, at least 1.
  ///
  /// A subscriber that is further behind is told to reload. The journal also stays below 64 MiB.
  public var journalRetention = 10_000

  /// The largest value in bytes; never more than the SQLite library takes (just below 1,000,000,000 on Debian).
  public var maximumValueSize = 1 << 30

  /// How long a commit waits, in milliseconds, while another process holds the write lock, before it fails with `busy`.
  public var busyTimeout = 5_000

  /// Where the journal takes its dates from.
  public var clock = StoreClock.system

  /// Is told, once for each damaged value, what was found. The bytes are kept in the quarantine.
  public var onDamage: (@Sendable (DamageReport) -> Void)?

  /// What messages call the store in place of `sqlite:` and its path.
  package var name: String?

  /// SQL that makes the tables which an engine has beside the store that is its journal, since it keeps the values
  /// elsewhere; `nil` for a store of its own.
  package var companionTables: String?

  /// Runs on the writer between a commit and its announcement: where tests kill the process.
  package var afterCommit: (@Sendable (StoreRevision) -> Void)?

  /// The usual settings.
  public init() {}
}

/// A value whose bytes are not those that were written.
///
/// Reading it throws `damaged`; its bytes were copied to the quarantine, where nothing changes them, so that writing
/// the key again loses nothing.
public struct DamageReport: Hashable, Sendable {
  /// The key whose value is damaged; `nil` when a whole file with many values is.
  public let key: StoreKey?
  /// The commit that wrote the value; zero for a whole file.
  public let revision: StoreRevision
  /// The size of the damaged bytes.
  public let size: Int
  /// The store.
  public let backend: String
  /// Whether a copy of the whole file is used in its place.
  public let isCopyUsed: Bool

  package init(key: StoreKey?, revision: StoreRevision, size: Int, backend: String, isCopyUsed: Bool = false) {
    self.key = key
    self.revision = revision
    self.size = size
    self.backend = backend
    self.isCopyUsed = isCopyUsed
  }
}
