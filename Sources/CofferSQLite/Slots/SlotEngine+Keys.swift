public import CofferCore

extension SlotEngine {
  /// The keys that start with `prefix`, in the order of their bytes, without reading the values. Linear in their
  /// number.
  /// - Throws: `StorageError`; `unavailable` when the home cannot be looked at.
  public func keys(prefix: Key? = nil) async throws -> [Key] {
    try await requireAvailable()
    return try await journal.withSnapshot { snapshot in
      var keys: [Key] = []
      while true {
        let page = try await snapshot.page(prefix: prefix, after: keys.last, limit: 1_000)
        if page.isEmpty { return keys }
        keys += page.map(\.key)
      }
    }
  }
}
