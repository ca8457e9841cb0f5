public import Foundation

/// A batch that happened: what the journal says of it.
public struct Commit: Hashable, Sendable {
  /// The store's revision after the batch.
  public let revision: Revision
  /// The logical change that the batch belongs to; `nil` for a writer that does not know us (an editor, another tool).
  public let transaction: TransactionID?
  /// The handle that wrote it; `nil` for a writer that does not know us.
  public let origin: Origin?
  /// What changed.
  public let changed: Selection
  /// When the batch was accepted, in whole milliseconds, by the clock of whoever committed it; of a change by a writer
  /// that does not know us, when it was noticed.
  public let date: Date

  /// What an engine tells about a batch it has applied.
  public init(
    revision: Revision, transaction: TransactionID?, origin: Origin?, changed: Selection, date: Date
  ) {
    self.revision = revision
    self.transaction = transaction
    self.origin = origin
    self.changed = changed
    self.date = date
  }
}

/// What a subscriber hears.
public enum Change: Hashable, Sendable {
  /// One commit; commits arrive in the order of their revisions, each once.
  case commit(Commit)
  /// Some commits up to this revision can no longer be told one by one: read again what you hold.
  case reload(upTo: Revision)

  /// The revision up to which the subscriber knows the store.
  public var revision: Revision {
    switch self {
    case .commit(let commit): commit.revision
    case .reload(let revision): revision
    }
  }
}
