/// Where a subscriber is in the history of a store: what to keep in order to go on later, in another process perhaps.
///
/// A revision alone is not enough. When an old copy of a store is put back, its numbers are given out again for other
/// commits; the epoch tells them apart.
///
/// ```swift
/// let position = engine.latestPosition
/// // later
/// for await change in engine.changes(since: position) { ... }
/// ```
public struct JournalPosition: Hashable, Sendable, LosslessStringConvertible {
  /// The history, a random number that is drawn anew whenever the store is taken to another one.
  public let epoch: UInt64
  /// The newest commit of that history that the subscriber knows.
  public let revision: StoreRevision

  /// A position in the history of an epoch.
  public init(epoch: UInt64, revision: StoreRevision) {
    self.epoch = epoch
    self.revision = revision
  }

  /// Reads what ``description`` gives; `nil` for anything else.
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
