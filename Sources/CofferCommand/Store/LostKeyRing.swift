import Coffer
import CofferEncryption

extension StorageEngine {
  /// Whether the values are delivered as they are stored, since the store was opened without a key ring.
  var showsStoredForm: Bool { self.as(EncryptedEngine.self) == nil && self.as(KeylessEngine.self) == nil }

  /// Throws `keyUnavailable` if the store has lost its key ring: a key that is not found may be hidden then.
  ///
  /// Looks at one page, since such a store has envelopes alone.
  func requireShownNames() async throws {
    guard showsStoredForm, !capabilities.contains(.secrecy), try await KeyRingStore.inspect(self) == nil else { return }
    try await refuseLostRingOnFirstPage()
  }

  /// Throws `keyUnavailable` if one of the first values is an envelope, in a store without a key ring. Damage is
  /// reported by whoever reads the values.
  func refuseLostRingOnFirstPage() async throws {
    guard capabilities.contains([.snapshots, .listing]) else { return }
    do {
      let items = try await withSnapshot { snapshot in
        try await Listing<StoreEntry.Summary>.page(of: snapshot, prefix: nil, after: nil)
      }
      for case .found(let summary) in items where summary.attributes.isSealed {
        // Another process may have created it since the caller looked for it.
        guard try await KeyRingStore.inspect(self) == nil else { return }
        throw StorageError.ringIsLost(location: description)
      }
    } catch let error as StorageError where error.code == .damaged {}
  }

  /// Throws `keyUnavailable` if one of the keys is not found in a store that has lost its key ring.
  func requireShownNames(of keys: [KeyName]) async throws {
    for key in keys {
      do { if try await summary(of: key) != nil { continue } } catch let error as StorageError
        where [.damaged, .unfinished].contains(error.code)
      {
        continue
      }
      return try await requireShownNames()
    }
  }
}
