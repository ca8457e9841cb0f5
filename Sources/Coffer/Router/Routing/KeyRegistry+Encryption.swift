import CofferEncryption
import CofferLocks
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

/// The encryption that the keys of one store declare. An object of its own, which the store holds.
final class DeclaredEncryption: Sendable {
  private struct State {
    var keys: [StoreKey: ValueEncryption] = [:]
    var families: [(prefix: StoreKey, encryption: ValueEncryption)] = []
    /// The source of the key material, of which a store has one.
    var material: KeyMaterialSource?
    var isEmpty: Bool { keys.isEmpty && families.isEmpty }
  }

  private let state = Locked(State())

  /// Whether no known key of the store is encrypted.
  var isEmpty: Bool { state.withLock { $0.isEmpty } }

  /// The source of the key material that the keys name; `nil` for the router's.
  var material: KeyMaterialSource? { state.withLock { $0.material } }

  /// Adds an encrypted key or family that is used or registered.
  fileprivate func add(_ record: KeyRegistry.Record, _ policy: EncryptionPolicy) {
    let encryption = ValueEncryption(algorithm: policy.isDeclared ? policy.algorithm : nil)
    state.withLock { state in
      if record.isFamily {
        state.families.removeAll { $0.prefix == record.key }
        state.families.append((record.key, encryption))
      } else {
        state.keys[record.key] = encryption
      }
      if record.obstacle == nil { state.material = policy.keyMaterial }
    }
  }

  /// Returns the encryption that a key declares, or `nil` if its values are plain.
  func encryption(of key: StoreKey) -> ValueEncryption? {
    state.withLock { state in
      guard !state.isEmpty else { return nil }
      return state.keys[key] ?? state.families.first { key.hasPrefix($0.prefix) }?.encryption
    }
  }
}

/// The encryption that the keys of a router declare, by their stores.
final class DeclaredEncryptions: Sendable {
  private let stores = Locked<[DomainLocation: DeclaredEncryption]>([:])

  /// Returns that of one store.
  func at(_ location: DomainLocation) -> DeclaredEncryption {
    stores.withLock { stores in
      if let known = stores[location] { return known }
      let new = DeclaredEncryption()
      stores[location] = new
      return new
    }
  }

  /// Adds a key that is used or registered, if it is encrypted.
  func add(_ record: KeyRegistry.Record) {
    guard let policy = record.descriptor.encryption, case .located(let location) = record.location else { return }
    at(location).add(record, policy)
  }
}

extension StorageConfiguration {
  /// The settings for opening a store, with the key material and the algorithms that its keys declare.
  func encrypting(_ declared: DeclaredEncryption) -> StorageConfiguration {
    var settings = self
    settings.encryption.material = declared.material
    settings.encryption.declared = { declared.encryption(of: $0) }
    return settings
  }
}
