/// A position in the history of a store, from which a subscriber can resume later, also in another process.
///
/// A revision alone is not enough: after an old copy of a store is restored, the same revisions are assigned again to
/// other commits. The epoch distinguishes the two histories.
///
/// ```swift
/// let position = engine.latestPosition
/// // later
/// for await change in engine.changes(since: position) { ... }
/// ```
public struct JournalPosition: Hashable, Sendable, LosslessStringConvertible {
  /// The identifier of the history: a random number that changes whenever the store begins another history.
  public let epoch: UInt64
  /// The newest commit of that history that the subscriber has received.
  public let revision: StoreRevision

  /// Creates a position from an epoch and a revision in it.
  public init(epoch: UInt64, revision: StoreRevision) {
    self.epoch = epoch
    self.revision = revision
  }

  /// Creates a position from its ``description``; `nil` for any other text.
  public init?(_ description: String) {
    let parts = description.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count <= 16, let epoch = UInt64(parts[0], radix: 16),
      let revision = UInt64(parts[1])
    else { return nil }
    self.init(epoch: epoch, revision: StoreRevision(revision))
  }

  /// The epoch in hexadecimal digits, a colon, and the revision: `1f0c33a97d2e4b60:42`.
  public var description: String { String(epoch, radix: 16) + ":\(revision)" }
}
