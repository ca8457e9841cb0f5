import CofferCore
import Foundation

/// A batch with everything that can be computed on the caller's thread, so that its transaction stays short.
struct CommitRequest: Sendable {
  let operations: [WriteBatch.Operation]
  /// The checksum of each operation, used for puts only.
  let checksums: [Int64]
  let transaction: TransactionID
  let origin: StoreOrigin
  let changed: StoreSelection
  /// The encoded selection, as the journal keeps it.
  let encodedChange: Data
  /// The checksum of the journal row.
  let journalChecksum: Int64
  /// The date of acceptance, in whole milliseconds.
  let date: Date
  /// Whether the batch removes expired values, so that its `require` operations find them.
  let isSweep: Bool
  /// The total size of the values in bytes.
  let size: Int

  init(
    _ batch: WriteBatch, store: Int64, origin: StoreOrigin, at date: Date, isSweep: Bool = false
  ) {
    operations = batch.operations
    checksums = batch.operations.map { operation in
      switch operation {
      case .put(let key, let value, let attributes):
        RowChecksum.content(store: store, isRecord: false, key, value, attributes.encoded)
      case .putRecord(let name, let content):
        RowChecksum.content(store: store, isRecord: true, name.key, content, [])
      default: 0
      }
    }
    transaction = batch.transaction ?? .next()
    self.origin = origin
    changed = batch.selection
    encodedChange = Data(changed.encoded())
    self.date = date.inMilliseconds
    journalChecksum = RowChecksum.journal(
      store: store, transaction: transaction.data, origin: origin.handle.data,
      committedAt: self.date.unixMilliseconds, changed: encodedChange)
    self.isSweep = isSweep
    size = batch.operations.reduce(0) { size, operation in
      switch operation {
      case .put(_, let value, _), .putRecord(_, let value): size + value.count
      default: size
      }
    }
  }

  /// The put of a value, with its checksum, if the batch consists of that and of preconditions before it.
  var onlyPut: (key: KeyName, value: Data, attributes: ValueAttributes, checksum: Int64)? {
    guard let last = operations.indices.last, case .put(let key, let value, let attributes) = operations[last],
      requiredRows.count == last
    else { return nil }
    return (key, value, attributes, checksums[last])
  }

  /// Whether there is anything to write.
  var isChange: Bool { !changed.isEmpty }

  func commit(at revision: StoreRevision, groupSize: Int) -> StoreCommit {
    var commit = StoreCommit(
      revision: revision, transaction: transaction, origin: origin, changed: changed, date: date)
    commit.groupSize = groupSize
    return commit
  }
}

/// The name of a row: a value or a system record.
struct RowName: Hashable, Sendable {
  let isRecord: Bool
  let key: KeyName
}

extension CommitRequest {
  /// The rows whose revisions the batch requires.
  var requiredRows: [RowName] {
    operations.compactMap { operation in
      switch operation {
      case .require(let key, _): RowName(isRecord: false, key: key)
      case .requireRecord(let name, _): RowName(isRecord: true, key: name.key)
      default: nil
      }
    }
  }
}
