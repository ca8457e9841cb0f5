import Foundation

extension TypedStore {
  /// Commits a batch unless it would replace a value of a newer version.
  func commitChecked(_ batch: WriteBatch, by schema: StoreSchema) async throws -> StoreCommit {
    var required: Set<KeyName> = []
    var hasConditions = false
    for operation in batch.operations {
      switch operation {
      case .require(let key, _):
        required.insert(key)
        hasConditions = true
      case .requireRecord: hasConditions = true
      default: continue
      }
    }
    var attempt = 0
    while true {
      try Task.checkCancellation()
      attempt += 1
      var checked = batch
      var added: Set<KeyName> = []
      for operation in batch.operations {
        guard case .put(let key, _, _) = operation, let declared = schema[key] else { continue }
        let summary = try await engine.summary(of: key)
        if let summary { _ = try declared.storedVersion(summary.attributes, of: key, at: engine.description) }
        if !required.contains(key), added.insert(key).inserted { checked.require(key, at: summary?.revision) }
      }
      do { return try await engine.commit(checked, from: origin) } catch let error as StorageError
        where error.code == .preconditionFailed
      {
        // A condition of the caller's own fails again, however often it is tried.
        guard !hasConditions || error.key.map({ added.contains($0) }) ?? false else { throw error }
        engine.tellRetry(.transaction, attempt: attempt, code: error.code)
      }
    }
  }
}
