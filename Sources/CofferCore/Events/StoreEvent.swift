public import Foundation

/// Something that a store did or that happened to it, for logs and metrics; see ``CofferEvents``.
///
/// An event never contains a value. Only ``Kind/damaged(_:)`` and ``Kind/recovered(_:)`` name keys; a commit states how
/// many operations it had. Stores of secrets report no sizes. The description is one line for a log:
///
/// ```
/// sqlite:/var/lib/app.db: committed revision 17 (2 operations, 340 bytes) in 1.204 ms
/// ```
public struct StoreEvent: Hashable, Sendable {
  /// The location of the store, as in its error messages: `sqlite:/var/lib/app.db`.
  public let location: String
  /// What happened.
  public let kind: Kind

  /// Creates an event, for engines outside of this package and for tests.
  public init(location: String, _ kind: Kind) {
    self.location = location
    self.kind = kind
  }

  /// What happened to a store. Further kinds may be added: switch with a `default`.
  public enum Kind: Hashable, Sendable {
    /// A handle was opened.
    case opened(Opening)
    /// A handle was closed, or released without being closed.
    case closed
    /// A commit of this process was applied. Commits of other processes are delivered by
    /// ``StorageEngine/changes(since:)`` only.
    case committed(Commit)
    /// An operation threw an error.
    case failed(Failure)
    /// Pages were copied from the write-ahead log into the database file.
    case checkpointed(Checkpoint)
    /// A damaged value or file was found. Told once for each, like `onDamage`.
    case damaged(DamageReport)
    /// Opening the store has repaired something. A loss of commits is told as ``availabilityChanged(_:)`` instead.
    case recovered(RecoveryReport)
    /// An operation that did not succeed at once was or will be repeated.
    case retried(Retry)
    /// The availability has changed, or it was not ``StoreAvailability/available`` when the store was opened.
    case availabilityChanged(StoreAvailability)
    /// An encrypted store is older than its anchor: it was not opened, or is open and its anchor is no longer updated.
    case rolledBack(Rollback)
    /// This process has replaced or destroyed keys of an encrypted store by itself, or on a call that destroys them.
    case keysReplaced(KeyReplacement)
  }

  /// An opened handle.
  public struct Opening: Hashable, Sendable {
    /// The newest revision of the store.
    public let revision: StoreRevision
    /// Whether the store was opened for reading only.
    public let isReadOnly: Bool
    /// The time that opening took.
    public let duration: Duration

    /// Creates the facts of an opening.
    public init(revision: StoreRevision, isReadOnly: Bool, duration: Duration) {
      (self.revision, self.isReadOnly, self.duration) = (revision, isReadOnly, duration)
    }
  }

  /// An applied commit.
  public struct Commit: Hashable, Sendable {
    /// The revision that the commit created.
    public let revision: StoreRevision
    /// The logical change that the commit belongs to.
    public let transaction: TransactionID?
    /// The number of operations of the batch, without its preconditions. SQL statements are not counted.
    public let operations: Int
    /// The size of the stored values in bytes, before any encryption; `nil` in a store of secrets.
    public let bytes: Int?
    /// The requested durability.
    public let durability: StoreDurability
    /// The time from the call to its return, which includes waiting for other commits.
    public let duration: Duration
    /// The number of batches that shared the transaction and its sync; `nil` if the engine has no groups.
    public let groupSize: Int?
    /// Whether the library made the commit by itself to remove expired values.
    public let isSweep: Bool

    /// Creates the facts of a commit.
    public init(
      revision: StoreRevision, transaction: TransactionID?, operations: Int, bytes: Int?, durability: StoreDurability,
      duration: Duration, groupSize: Int? = nil, isSweep: Bool = false
    ) {
      self.revision = revision
      self.transaction = transaction
      self.operations = operations
      self.bytes = bytes
      self.durability = durability
      self.duration = duration
      self.groupSize = groupSize
      self.isSweep = isSweep
    }
  }

  /// An operation that threw an error.
  public struct Failure: Hashable, Sendable {
    /// The operation.
    public let operation: StoreSpan.Operation
    /// The code of the error, such as `preconditionFailed` for a commit that was refused; `nil` for errors that are no
    /// ``StorageError``: a cancellation, or any error of a transaction's closure. After `unfinished` the commit is
    /// applied, and after `outcomeUnknown` it may be.
    public let code: StorageError.Code?
    /// The logical change that the failed batch named, if any.
    public let transaction: TransactionID?
    /// The time from the call to the error.
    public let duration: Duration

    /// Creates the facts of a failure.
    public init(
      _ operation: StoreSpan.Operation, code: StorageError.Code?, transaction: TransactionID? = nil, duration: Duration
    ) {
      self.operation = operation
      self.code = code
      self.transaction = transaction
      self.duration = duration
    }
  }

  /// A copying of pages from the write-ahead log.
  public struct Checkpoint: Hashable, Sendable {
    /// The number of pages of 4,096 bytes that were copied.
    public let pages: Int
    /// The time that copying took.
    public let duration: Duration
    /// Whether commits waited for it, since the log had become too long.
    public let delayedCommits: Bool

    /// Creates the facts of a checkpoint.
    public init(pages: Int, duration: Duration, delayedCommits: Bool) {
      (self.pages, self.duration, self.delayedCommits) = (pages, duration, delayedCommits)
    }
  }

  /// An older copy of an encrypted store.
  public struct Rollback: Hashable, Sendable {
    /// The newest revision of the store as it was found.
    public let found: StoreRevision
    /// The revision that its anchor knows.
    public let anchored: StoreRevision
    /// The date of the anchor.
    public let date: Date

    /// Creates the facts of a rollback.
    public init(found: StoreRevision, anchored: StoreRevision, date: Date) {
      (self.found, self.anchored, self.date) = (found, anchored, date)
    }
  }

  /// A repetition.
  public struct Retry: Hashable, Sendable {
    /// The subject of a repetition.
    public enum Subject: String, Hashable, Sendable {
      /// The write lock, which another process held. Told once for each group of commits that had to wait.
      case writeLock
      /// A transaction or an update whose keys another writer has changed.
      case transaction
      /// The read of a stream of values, which failed and is repeated when that may help.
      case read
    }

    /// What is repeated.
    public let subject: Subject
    /// The number of repetitions so far, from 1.
    public let attempt: Int
    /// The code of the error that caused the repetition.
    public let code: StorageError.Code

    /// Creates the facts of a repetition.
    public init(_ subject: Subject, attempt: Int, code: StorageError.Code) {
      (self.subject, self.attempt, self.code) = (subject, attempt, code)
    }
  }

  /// A change of the keys of an encrypted store.
  public struct KeyReplacement: Hashable, Sendable {
    /// The reason of a change.
    public enum Reason: String, Hashable, Sendable {
      /// An automatic rotation has written the values anew under the primary key.
      case rotation
      /// The keys were destroyed, and what they encrypted is erased.
      case shredding
    }

    /// The reason of the change.
    public let reason: Reason
    /// The short id of the key that encrypts new values.
    public let primaryKey: String?
    /// The short ids of the keys that the store no longer has.
    public let removedKeys: [String]
    /// The number of values that were written anew or erased.
    public let values: Int
    /// The time that the change took.
    public let duration: Duration

    /// Creates the facts of a change.
    public init(
      _ reason: Reason, primaryKey: String?, removedKeys: [String] = [], values: Int = 0, duration: Duration = .zero
    ) {
      self.reason = reason
      self.primaryKey = primaryKey
      self.removedKeys = removedKeys
      self.values = values
      self.duration = duration
    }
  }
}
