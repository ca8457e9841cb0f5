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
}
