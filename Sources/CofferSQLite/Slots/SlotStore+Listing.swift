import CofferCore

extension SlotStore {
  func sizes(prefix: Key?) async throws -> [(key: Key, size: Int)] {
    try await requireAvailable()
    guard !home.slots.keepsSecrets else { throw StorageError.noSizes(description) }
    for _ in 0..<16 {
      do {
        return try await recordedSizes(prefix)
      } catch let error as StorageError where error.code == .damaged {
        guard let key = error.key else { throw error }
        try await reconciler.reconcile([key])  // What the journal says is damaged, not the value.
      }
    }
    return try await recordedSizes(prefix)
  }

  func keys(prefix: Key?) async throws -> [Key] {
    try await requireAvailable()
    return try await inner.withSnapshot { snapshot in
      var keys: [Key] = []
      while true {
        let page = try await snapshot.page(prefix: prefix, after: keys.last, limit: 1_000)
        if page.isEmpty { return keys }
        keys += page.map(\.key)
      }
    }
  }

  private func recordedSizes(_ prefix: Key?) async throws -> [(key: Key, size: Int)] {
    try await inner.withSnapshot { [home] snapshot in
      var sizes: [(key: Key, size: Int)] = []
      while true {
        let page = try await snapshot.page(prefix: prefix, after: sizes.last?.key, limit: 1_000)
        if page.isEmpty { return sizes }
        sizes += try page.map { ($0.key, try home.recorded($0).record.size) }
      }
    }
  }

  func size(of key: Key) async throws -> Int? {
    _ = try inner.openStore()
    guard !home.slots.keepsSecrets else { throw StorageError.noSizes(description) }
    if reconciler.isSuspect(key) { try await reconciler.reconcile([key]) }
    return try await inner.entry(key).map { try home.recorded($0).record.size }
  }
}

extension StorageError {
  static func noSizes(_ backend: String) -> StorageError {
    .unsupported("telling sizes without reading the values", advice: "Read the value.", backend: backend)
  }
}
