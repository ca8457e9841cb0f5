import Foundation

extension KeyRegistry.Record {
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
