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
    try await refuseLostRing(amongFirst: 256)
  }
}
