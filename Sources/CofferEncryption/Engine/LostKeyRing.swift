package import CofferCore

extension StorageEngine {
  /// Throws `keyUnavailable` if the store holds an envelope: without a key ring, which the caller has looked for, the
  /// ring was lost.
  /// - Parameter limit: the number of values after which the search ends; `nil` for all of them.
  package func refuseLostRing(amongFirst limit: Int? = nil) async throws {
    guard capabilities.contains([.snapshots, .listing]) else { return }
    try await withAllStored { snapshot in
      var (last, count) = (StoreKey?.none, 0)
      while limit.map({ count < $0 }) ?? true {
        let page = try await snapshot.summaries(prefix: nil, after: last, limit: min(limit ?? 1_000, 1_000))
        guard let end = page.last else { return }
        if let sealed = page.first(where: \.attributes.isMarked) {
          throw StorageError.ringIsLost(location: description, key: sealed.attributes.hasSealedName ? nil : sealed.key)
        }
        (last, count) = (end.key, count + page.count)
      }
    }
  }
}
