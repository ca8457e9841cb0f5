import CofferLocks

/// Adds the removal of outdated kept forms to batches before their commit, for an engine that cannot look for the
/// record of kept forms within it.
package final class KeptFormRemoval: Sendable {
  /// Whether the store is known to have the record, which stays for good.
  private let isNeeded = Locked(false)

  /// Creates the removal of a store about which nothing is known.
  package init() {}

  /// Returns a batch with the removal of the forms that it outdates, or with the precondition that there are none.
  package func completing(_ batch: WriteBatch) -> WriteBatch {
    guard !batch.keepsForms, batch.operations.contains(where: \.outdatesForm) else { return batch }
    let added: [WriteBatch.Operation] =
      isNeeded.withLock { $0 } ? batch.outdatedForms.map { .delete($0) } : [.requireRecord(KeptForms.record, nil)]
    return WriteBatch(batch.operations + added, transaction: batch.transaction, durability: batch.durability)
  }

  /// Commits a batch with the removal of the forms that it outdates.
  /// - Parameters:
  ///   - record: reads a record of the store.
  ///   - body: commits a batch.
  package func commit(
    _ batch: WriteBatch, record: (SystemRecordName) async throws -> SystemRecord?,
    _ body: (WriteBatch) async throws -> StoreCommit
  ) async throws -> StoreCommit {
    let wasNeeded = isNeeded.withLock { $0 }
    do { return try await body(completing(batch)) } catch let error as StorageError
      where error.code == .preconditionFailed && !wasNeeded
    {
      guard try await record(KeptForms.record) != nil else { throw error }
    }
    isNeeded.withLock { $0 = true }
    return try await body(completing(batch))
  }
}

extension WriteBatch.Operation {
  /// Whether the operation replaces or removes one value.
  fileprivate var outdatesForm: Bool {
    switch self {
    case .put, .delete: true
    case .clear, .require, .putRecord, .deleteRecord, .requireRecord: false
    }
  }
}
