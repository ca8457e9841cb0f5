public import Foundation

/// A batch that happened: what the journal says of it.
public struct StoreCommit: Hashable, Sendable {
  /// The store's revision after the batch.
  public let revision: StoreRevision
  /// The logical change that the batch belongs to; `nil` for a writer that does not know us (an editor, another tool).
  public let transaction: TransactionID?
  /// The handle that wrote it; `nil` for a writer that does not know us.
  public let origin: StoreOrigin?
  /// What changed.
  public let changed: StoreSelection
  /// When the batch was accepted, in whole milliseconds, by the clock of whoever committed it; of a change by a writer
  /// that does not know us, when it was noticed.
  public let date: Date

  /// What an engine tells about a batch it has applied.
  public init(
    revision: StoreRevision, transaction: TransactionID?, origin: StoreOrigin?, changed: StoreSelection, date: Date
  ) {
    self.revision = revision
    self.transaction = transaction
    self.origin = origin
    self.changed = changed
    self.date = date
  }
}

/// What a subscriber hears.
public enum StoreChange: Hashable, Sendable {
  /// One commit; commits arrive in the order of their revisions, each once.
  case commit(StoreCommit)
  /// Some commits up to this revision can no longer be told one by one: read again what you hold.
  case reload(upTo: StoreRevision)

  /// The revision up to which the subscriber knows the store.
  public var revision: StoreRevision {
    switch self {
    case .commit(let commit): commit.revision
    case .reload(let revision): revision
    }
  }
}
