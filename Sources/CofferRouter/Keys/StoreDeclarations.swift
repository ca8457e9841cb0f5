import Coffer
import CofferCore
import CofferEncryption

/// What the keys of one store declare about their values. An object of its own, which engines hold without holding the
/// router: they ask about every key, whoever writes it.
final class StoreDeclarations: Sendable {
  private struct State {
    var keys: [KeyName: KeyRegistry.Record] = [:]
    var families: [KeyRegistry.Record] = []
    var encrypts = false
    var material: KeyMaterialSource?

    /// The declaration of a key or of its family: no two in a store claim one name.
    func record(of key: KeyName) -> KeyRegistry.Record? { keys[key] ?? families.first { key.hasPrefix($0.key) } }
  }

  private let state = Locked(State())

  /// Adds a key that is used or registered, or replaces its earlier declaration.
  fileprivate func add(_ record: KeyRegistry.Record) {
    state.withLock { state in
      if record.isFamily {
        state.families.removeAll { $0.key == record.key }
        state.families.append(record)
      } else {
        state.keys[record.key] = record
      }
      guard let policy = record.descriptor.encryption else { return }
      state.encrypts = true
      if record.obstacle == nil { state.material = policy.keyMaterial }
    }
  }

  /// The declaration of a key, or that of its family.
  func record(of key: KeyName) -> KeyRegistry.Record? { state.withLock { $0.record(of: key) } }

  /// The version that the values of a key have.
  func schema(of key: KeyName) -> DeclaredSchema? { record(of: key)?.schema }

  /// The access control of the values of a key.
  func control(of key: KeyName) -> KeychainAccessControl? { record(of: key)?.descriptor.accessControl }

  /// How the values of a key are encrypted, or `nil` if they are plain.
  func encryption(of key: KeyName) -> ValueEncryption? {
    state.withLock { state in
      guard state.encrypts, let policy = state.record(of: key)?.descriptor.encryption else { return nil }
      return ValueEncryption(algorithm: policy.isDeclared ? policy.algorithm : nil)
    }
  }

  /// Whether a key of the store is encrypted.
  var encrypts: Bool { state.withLock { $0.encrypts } }

  /// The source of the key material that the encrypted keys name; `nil` for the router's. A store has one.
  var material: KeyMaterialSource? { state.withLock { $0.material } }
}

/// The declarations of the keys of a router, by their stores.
final class Declarations: Sendable {
  private let stores = Locked<[DomainLocation: StoreDeclarations]>([:])

  /// Returns those of one store.
  func at(_ location: DomainLocation) -> StoreDeclarations {
    stores.withLock { stores in
      if let known = stores[location] { return known }
      let new = StoreDeclarations()
      stores[location] = new
      return new
    }
  }

  /// Adds a key that is used or registered, or replaces its earlier declaration.
  func add(_ record: KeyRegistry.Record) {
    if case .located(let location) = record.location { at(location).add(record) }
  }
}

extension StorageConfiguration {
  /// The settings for opening a store, with the key material and the algorithms that its keys declare.
  func encrypting(_ declared: StoreDeclarations) -> StorageConfiguration {
    var settings = self
    settings.encryption.material = declared.material
    settings.encryption.declared = { declared.encryption(of: $0) }
    return settings
  }
}
