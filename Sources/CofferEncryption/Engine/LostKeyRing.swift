package import CofferCore

extension StorageEngine {
  /// Throws `keyUnavailable` if the store holds an envelope: without a key ring, which the caller has looked for, the
  /// ring was lost, unless another process has created it since.
  package func refuseLostRing() async throws {
    do { try await refuseEnvelopes() } catch let error as StorageError where error.code == .keyUnavailable {
      guard try await StoredKeyRing.load(from: self) != nil else { throw error }
    }
  }

  private func refuseEnvelopes() async throws {
    guard capabilities.contains([.snapshots, .listing]) else { return }
    try await withAllStored { snapshot in
      var last: KeyName?
      while true {
        let page = try await snapshot.summaries(prefix: nil, after: last, limit: 1_000)
        guard let end = page.last else { return }
        if let sealed = page.first(where: \.attributes.isSealed) {
          throw StorageError.ringIsLost(location: description, key: sealed.attributes.hasSealedName ? nil : sealed.key)
        }
        last = end.key
      }
    }
  }
}
