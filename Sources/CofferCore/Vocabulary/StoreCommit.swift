public import Foundation

/// A committed batch, as recorded in the journal.
public struct StoreCommit: Hashable, Sendable {
  /// The store's revision after the batch.
  public let revision: StoreRevision
  /// The identifier of the logical change that the batch belongs to; `nil` if the writer does not use this library,
  /// such as an editor.
  public let transaction: TransactionID?
  /// The origin of the commit; `nil` if the writer does not use this library.
  public let origin: StoreOrigin?
  /// The keys and records that the batch changed.
  public let changed: StoreSelection
  /// The date when the batch was accepted, in whole milliseconds, by the clock of the committing handle. For a change
  /// by a writer that does not use this library, the date when it was detected.
  public let date: Date
  /// The number of batches that were committed together, for the event of the commit; `nil` if the engine does not say.
  /// Not compared: it is no part of the commit.
  package var groupSize: Int?

  /// Creates the commit of a batch that an engine has applied.
  public init(
    revision: StoreRevision, transaction: TransactionID?, origin: StoreOrigin?, changed: StoreSelection, date: Date
  ) {
    self.revision = revision
    self.transaction = transaction
    self.origin = origin
    self.changed = changed
    self.date = date
  }

  public static func == (first: StoreCommit, second: StoreCommit) -> Bool {
    first.revision == second.revision && first.transaction == second.transaction && first.origin == second.origin
      && first.changed == second.changed && first.date == second.date
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(revision)
    hasher.combine(transaction)
  }
}

/// An element of a stream of changes.
public enum StoreChange: Hashable, Sendable {
  /// One commit. Commits are delivered in the order of their revisions, each once.
  case commit(StoreCommit)
  /// Commits up to this revision are no longer available one by one: the subscriber must read its values again.
  case reload(upTo: StoreRevision)

  /// The revision up to which the subscriber is current once it has handled this change.
  public var revision: StoreRevision {
    switch self {
    case .commit(let commit): commit.revision
    case .reload(let revision): revision
    }
  }
}
