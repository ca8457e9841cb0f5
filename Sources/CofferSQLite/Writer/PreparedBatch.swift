import CofferCore
import Foundation

/// A batch with everything that can be computed on the caller's thread, so that the writer only writes.
///
/// A class, since it passes through several hands and a copy of its fields would count five references each time.
final class PreparedBatch: Sendable {
  let operations: [WriteBatch.Operation]
  /// One for each operation, of which those of puts are used; none when the operations were applied already.
  let checksums: [UInt32]
  let transaction: TransactionID
  let origin: StoreOrigin
  /// Whether the journal shall say that a writer that does not know us made it.
  let isForeign: Bool
  /// What to do in place of the operations; `nil` to apply them.
  let hook: CommitHook?
  let selection: StoreSelection
  let journalEntry: [UInt8]
  /// Whether there is anything to write.
  let isChange: Bool
  /// The bytes of all values.
  let size: Int
  /// When it was accepted, in whole milliseconds.
  let date: Date

  /// - Parameter isApplied: whether only the journal is still to be written.
  init(
    _ batch: WriteBatch, origin: StoreOrigin, at date: Date, isApplied: Bool = false, isForeign: Bool = false,
    hook: CommitHook? = nil
  ) {
    operations = batch.operations
    self.date = date.inMilliseconds
    self.isForeign = isForeign
    self.hook = hook
    checksums = (isApplied || hook != nil ? [] : batch.operations).map { operation in
      switch operation {
      case .put(let key, let value, let attributes):
        return attributes.encoded.withUnsafeBytes { including($0, in: checksum(key, value)) }
      case .putRecord(let name, let content): return checksum(name.key, content)
      default: return 0
      }
    }
    transaction = batch.transaction ?? .next()
    self.origin = origin
    selection = batch.selection
    journalEntry = selection.encoded()
    isChange = !selection.isEmpty
    size = batch.operations.reduce(0) { size, operation in
      if case .put(_, let value, _) = operation { size + value.count } else { size }
    }
  }

  func commit(at revision: StoreRevision) -> StoreCommit {
    StoreCommit(
      revision: revision, transaction: isForeign ? nil : transaction, origin: isForeign ? nil : origin,
      changed: selection, date: date)
  }
}
