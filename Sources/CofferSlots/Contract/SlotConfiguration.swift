public import CofferCore
public import CofferSQLite

/// How a ``SlotEngine`` is opened.
public struct SlotConfiguration: Sendable {
  /// Whether a missing home is made; otherwise opening it throws `notFound`. A missing journal is always made.
  public var createsIfMissing = true

  /// The largest value in bytes.
  public var maximumValueSize = 1 << 30

  /// How many commits the journal keeps for subscribers that fall behind, at least 1.
  public var journalRetention = 10_000

  /// How long a commit waits, in milliseconds, while another process holds the write lock, before it fails with `busy`.
  public var busyTimeout = 5_000

  /// The total size in bytes of the replaced values that this handle keeps for open snapshots. Beyond it the oldest are
  /// removed, and a snapshot that still asks for one throws `unavailable`.
  public var retainedBytes = 256 << 20

  /// How many replaced values this handle keeps for open snapshots, as ``retainedBytes``. Homes of secrets, which
  /// record no sizes, are limited by this alone.
  public var retainedCount = 10_000

  /// Where the journal takes its dates from.
  public var clock = StoreClock.system

  /// Is told, once for each damaged value, what was found. The bytes are kept in the quarantine.
  public var onDamage: (@Sendable (DamageReport) -> Void)?

  /// Is told what opening had to mend, if there was anything.
  public var onRecovery: (@Sendable (RecoveryReport) -> Void)?

  /// Runs at each step of a commit and of a recovery: where tests kill the process.
  package var atStep: (@Sendable (SlotStep) -> Void)?

  /// The usual settings.
  public init() {}
}

/// What opening a store had to mend.
public struct RecoveryReport: Hashable, Sendable {
  /// The store.
  public let backend: String
  /// How many values were put into their places for a writer that was killed after its commit.
  public let completed: Int
  /// How many values others had added, edited or removed while nobody had the store open.
  public let edited: Int
  /// How many values a killed writer had put aside whose journal is gone. Nobody knows whether they were stored, so
  /// they are in the quarantine.
  public let quarantined: Int
  /// The keys whose newest values are lost.
  ///
  /// Either such a value was gone or damaged before it was put into its place, after a killed writer had committed it:
  /// the key then has the value before it, which is announced as a change like any other, and what there is of the new
  /// one is in the quarantine. Or the home was damaged, and the copy that took its place has an older value of the key
  /// or none: reading it throws `damaged` until it is written again.
  public let lost: [StoreKey]
  /// Whether there was no journal although there were values: it was made anew from them. Revisions start again, and
  /// transaction ids of earlier commits are gone.
  public let wasRebuilt: Bool
}

/// Where a commit is.
package enum SlotStep: String, Sendable {
  /// A value was put aside.
  case staged
  /// The journal's rows are written, not yet committed.
  case recorded
  /// The batch is committed; its values are still aside.
  case committed
  /// A value was put into its place, or removed.
  case placed
  /// All places have survived power loss.
  case synced
  /// The journal knows that nothing is left to do.
  case finished
}

extension SQLiteConfiguration {
  /// The usual settings of a journal of values in slots.
  /// - Parameter name: how messages call the store.
  package static func slotJournal(named name: String) -> SQLiteConfiguration {
    var configuration = SQLiteConfiguration()
    configuration.name = name
    configuration.companionTables = SlotJournal.tables
    return configuration
  }
}

extension SlotConfiguration {
  /// The settings of the journal.
  func forJournal(named name: String) -> SQLiteConfiguration {
    var journal = SQLiteConfiguration.slotJournal(named: name)
    journal.journalRetention = journalRetention
    journal.busyTimeout = busyTimeout
    journal.clock = clock
    return journal
  }
}
