import CofferCore

extension StorageEngine {
  /// Returns the summaries of the kept old forms, which other listings leave out.
  package func keptForms(prefix: StoreKey? = nil) async throws -> [StoreEntrySummary] {
    try await withSnapshot { snapshot in
      var (kept, last): ([StoreEntrySummary], StoreKey?) = ([], nil)
      while true {
        let page = try await snapshot.listingKeptForms.summaries(prefix: prefix, after: last, limit: 1_000)
        guard let end = page.last else { return kept }
        kept += page.filter { KeptForms.contains($0.key) }
        last = end.key
      }
    }
  }

  /// Returns the operations that remove the kept old forms of keys, if there are any, for a batch that replaces or
  /// removes the values themselves without their schemas.
  package func removalOfKeptForms(of keys: some Sequence<StoreKey>) async throws -> [WriteBatch.Operation] {
    var operations: [WriteBatch.Operation] = []
    for key in keys {
      guard let kept = KeptForms.key(of: key), try await contains(kept) else { continue }
      operations.append(.delete(kept))
    }
    return operations
  }
}
