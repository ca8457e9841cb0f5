import CofferEncryption
import Foundation

extension KeyRegistry.Record {
  /// Refuses a protected key whose store is elsewhere than when the key was declared, such as after a change of the
  /// working directory: its protection is found by the location, and the value would be stored without it.
  /// - Throws: `unavailable`.
  func checkLocation(_ configuration: StorageConfiguration) throws {
    switch descriptor.security {
    case .none, .keychain(_, nil): return
    case .encrypted, .keychain: break
    }
    guard location != (try .located(DomainLocation(descriptor.domain, configuration))) else { return }
    throw StorageError(
      .unavailable, "The store of the key is at another location now than when the key was declared.",
      advice: "Use absolute paths, and keep the directories of the program as they are. Nothing was read or written.",
      location: descriptor.domain.description, key: key)
  }

  /// Refuses a key whose encrypted store gets its key material from another source than a known key names: the first
  /// key to be used would decide.
  /// - Throws: `invalidDeclaration`, which names both keys and both sources.
  func checkKeyMaterial(besides known: some Sequence<KeyRegistry.Record>) throws {
    guard case .encrypted(let own) = descriptor.security else { return }
    for other in known where other.location == location && other.key != key {
      guard case .encrypted(let policy) = other.descriptor.security, policy.keyMaterial != own.keyMaterial else {
        continue
      }
      let names = [policy, own].map { $0.keyMaterial?.id.escapingControlCharacters }
      let sources = names.map { $0.map { "'\($0)'" } ?? "the router's" }
      throw StorageError(
        .invalidDeclaration,
        "The store has two sources of its key material: \(sources[0]) for "
          + "'\(other.key.string.escapingControlCharacters)', and \(sources[1]) for this key.",
        advice: "Declare the policy once, as a constant, and use it for both keys, or use two stores. "
          + "Nothing was read or written.",
        location: descriptor.domain.description, key: key)
    }
  }
}
