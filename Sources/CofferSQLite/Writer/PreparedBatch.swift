import CofferCore
import Foundation

/// A batch with everything that can be computed on the caller's thread, so that the write transaction stays short.
///
/// A class, since it is passed along often and each copy of its fields would update five reference counts.
final class PreparedBatch: Sendable {
  let operations: [WriteBatch.Operation]
  let traits: WriteBatch.Traits
  let transaction: TransactionID
  let origin: StoreOrigin
  /// Whether the journal records the batch as made by an unaware writer.
  let isForeign: Bool
  /// Whether the batch removes expired values, so that its `require` operations find them.
  let isSweep: Bool
  /// The hook that is applied instead of the operations; `nil` to apply the operations.
  let hook: CommitHook?
  let selection: StoreSelection
  let journalEntry: [UInt8]
  /// Whether there is anything to write.
  let isChange: Bool
  /// The total size of the values in bytes.
  let size: Int
  /// The date of acceptance, in whole milliseconds.
  let date: Date

  init(
    _ batch: WriteBatch, origin: StoreOrigin, at date: Date, isForeign: Bool = false, isSweep: Bool = false,
    hook: CommitHook? = nil
  ) {
    operations = batch.operations
    self.date = date.inMilliseconds
    self.isForeign = isForeign
    self.isSweep = isSweep
    self.hook = hook
    transaction = batch.transaction ?? .next()
    self.origin = origin
    selection = batch.selection
    journalEntry = selection.encoded()
    isChange = !selection.isEmpty
    traits = batch.traits
    size = batch.size
  }

  /// Whether the batch may be committed on a caller's thread, which may be that of the user interface. What it replaces
  /// is unknown.
  var isSmall: Bool {
    size <= Self.smallSize && operations.count <= Self.smallCount && !selection.isEverything
      && selection.prefixes.isEmpty
  }

  private static let smallSize = 64 << 10
  private static let smallCount = 64

  func commit(at revision: StoreRevision, groupSize: Int) -> StoreCommit {
    var commit = StoreCommit(
      revision: revision, transaction: isForeign ? nil : transaction, origin: isForeign ? nil : origin,
      changed: selection, date: date)
    commit.groupSize = groupSize
    return commit
  }
}
