import Foundation

extension TypedStore {
  /// Commits a batch unless it would replace a value of a newer version, and removes the old forms of what it writes.
  func commitChecked(_ batch: WriteBatch, by schema: StoreSchema) async throws -> StoreCommit {
    let required = Set(
      batch.operations.compactMap { operation -> StoreKey? in
        if case .require(let key, _) = operation { key } else { nil }
      })
    while true {
      try Task.checkCancellation()
      var checked = batch
      for operation in batch.operations {
        switch operation {
        case .put(let key, _, _):
          guard let declared = schema[key] else { continue }
          let summary = try await engine.summary(of: key)
          if let summary { _ = try declared.storedVersion(summary.attributes, of: key, at: engine.description) }
          if !required.contains(key) { checked.require(key, at: summary?.revision) }
          if declared.keepOldForm != .never, let old = KeptForms.key(of: key) { checked.delete(old) }
        case .delete(let key):
          guard let declared = schema[key], declared.keepOldForm != .never else { continue }
          if let old = KeptForms.key(of: key) { checked.delete(old) }
        default: continue
        }
      }
      do { return try await engine.commit(checked, from: origin) } catch let error as StorageError
        where error.code == .preconditionFailed && required.isEmpty
      {
        engine.tellRetry(.transaction, attempt: 1, code: error.code)
      }
    }
  }
}
