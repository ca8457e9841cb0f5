public import CofferCore
package import CofferSQLite

extension SlotEngine {
  /// The options for opening a ``SlotEngine``.
  @dynamicMemberLookup
  public struct Configuration: Sendable {
    /// The settings that every kind of store has.
    public var common = OpenSettings()

    /// What opening does with data of another origin, such as the files of a directory that never was a store: by
    /// default, it throws `foreignFormat`.
    public var foreignData = ForeignData.Policy.refuse

    /// The maximum size of a value, in bytes. 1 GiB by default.
    public var maximumValueSize = 1 << 30

    /// The number of commits that the journal retains for subscribers that fall behind; at least 1.
    public var journalRetention = 10_000

    /// The time, in milliseconds, that a commit waits for a write lock held by another process before it throws `busy`.
    public var busyTimeout = 5_000

    /// The total size, in bytes, of the replaced values that this handle retains for open snapshots. Beyond it the
    /// oldest are removed, and a snapshot that reads one of them throws `unavailable`.
    public var retainedBytes = 256 << 20

    /// The number of replaced values that this handle retains for open snapshots; the oldest are removed as for
    /// ``retainedBytes``. For stores of secrets, which record no sizes, this is the only limit.
    public var retainedCount = 10_000

    /// Called after opening if there was anything to recover.
    public var onRecovery: (@Sendable (RecoveryReport) -> Void)?

    /// Asks the user before a secret with an access control is read. Without one, which is the default, reading such a
    /// secret throws `unsupported`. Stores that are not made for secrets never ask.
    public var authentication: AuthenticationContext?

    /// Returns the access control that a key declares, which is asked for besides the one that is stored with the
    /// value.
    package var declaredAccessControl: (@Sendable (KeyName) -> KeychainAccessControl?)?

    /// Called at each step of a commit and of a recovery, so that tests can kill the process there.
    package var atStep: (@Sendable (SlotStep) -> Void)?

    /// Creates a configuration with the default settings.
    public init() {}

    /// The members of ``common``.
    @inlinable public subscript<Value>(dynamicMember member: WritableKeyPath<OpenSettings, Value>) -> Value {
      get { common[keyPath: member] }
      set { common[keyPath: member] = newValue }
    }

    /// Returns why the store is to be opened for reading only, as the end of a sentence; `nil` to open it for writing.
    /// - Parameter control: the path of the directory of the journal.
    package func reasonToOnlyRead(control: String) -> String? {
      switch common.access {
      case .readOnly: StorageError.readOnlyRequest
      case .readWrite: nil
      case .readWriteOrReadOnly: SlotControl.obstacleToWriting(in: control)
      }
    }
  }
}

/// The steps of a commit, in order.
package enum SlotStep: String, Sendable {
  /// A value was staged.
  case staged
  /// The journal rows are written but not yet committed.
  case recorded
  /// The batch is committed; its values are still staged.
  case committed
  /// A value was published or removed.
  case placed
  /// Every published value is synced to the device.
  case synced
  /// The journal lists no pending work any more.
  case finished
}

extension SQLiteEngine.Configuration {
  /// The default configuration of the journal of a store in slots.
  /// - Parameter name: the name of the store in error messages.
  package static func slotJournal(named name: String) -> SQLiteEngine.Configuration {
    var configuration = SQLiteEngine.Configuration()
    configuration.name = name
    configuration.companionTables = SlotJournal.tables
    return configuration
  }
}

extension SlotEngine.Configuration {
  /// The configuration of the journal database.
  func forJournal(named name: String) -> SQLiteEngine.Configuration {
    var journal = SQLiteEngine.Configuration.slotJournal(named: name)
    journal.journalRetention = journalRetention
    journal.busyTimeout = busyTimeout
    journal.clock = common.clock
    journal.journalEvents = common.events
    return journal
  }
}
