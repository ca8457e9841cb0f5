import Coffer
import CofferCore
import CofferFiles

extension StorageConfiguration {
  /// Puts an engine in the place of a domain's store, for every key in that store. For tests: a key that is declared in
  /// the keychain or in the preferences is then stored in this engine, whatever it promises.
  ///
  /// ```swift
  /// let engine = FaultInjectingEngine(MemoryEngine())
  /// let router = StorageRouter.inMemory { $0.replace(.userDefaults(), with: engine) }
  /// engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit)
  /// // The next router.set(_:for:) of a key in the preferences throws diskFull.
  /// ```
  ///
  /// The engine stays open when the router is closed. Other spellings of the same store are replaced as well.
  public mutating func replace(_ domain: StorageDomain, with engine: any StorageEngine) {
    replacements[domain] = engine
  }

  /// Returns the engine that was given for a location, or `nil` if its store is opened there.
  func engine(at location: DomainLocation) -> (any StorageEngine)? {
    for (domain, engine) in replacements where (try? DomainLocation(domain, self)) == location { return engine }
    guard case .engine(let name) = location else { return nil }
    return engines[name.description]
  }

  /// Returns whether a test's engine takes the place of a store.
  func isReplaced(_ location: DomainLocation) -> Bool {
    replacements.keys.contains { (try? DomainLocation($0, self)) == location }
  }

  /// Returns whether a domain is made for secrets: a keychain, a sealed file, or an engine or a scheme that declares
  /// it. A missing engine or scheme is accepted here, and is an error when the key is used.
  func keepsSecrets(_ domain: StorageDomain) -> Bool {
    switch domain {
    case .engine(let name): engines[name]?.capabilities.contains(.secrecy) ?? true
    case .store(.other(let scheme, _)): LocationScheme.named(scheme, in: stores.schemes)?.keepsSecrets ?? true
    default: domain.keepsSecrets
    }
  }

  /// The settings for opening a domain's store: with the passphrase of the domain, if it has a source of its own, and
  /// with the default key of the application.
  func opening(_ domain: StorageDomain) -> StorageConfiguration {
    var configuration = self
    configuration.encryption.service = applicationName
    if let source = domain.sealedFile?.passphrase { configuration.stores.passphrase = { _ in source } }
    return configuration
  }
}

extension StorageConfiguration {
  /// Opens the store of a location, whose engine asks the user for the access controls of its values.
  /// - Parameter control: returns the access control that a key declares.
  func openGuarded(
    _ location: DomainLocation, asking control: @escaping @Sendable (KeyName) -> KeychainAccessControl?
  ) async throws -> any StorageEngine {
    var configuration = self
    configuration.stores.declaredAccessControl = control
    let engine = try await location.open(configuration)
    guard needsGuard(location) else { return engine }
    let isAsking = engine.as(SlotEngine.self)?.asksUser ?? false
    return GuardedEngine(
      engine, ReadGuard(authentication, declared: control, isInFrontOfAnother: isAsking))
  }

  /// Whether the engine of a location holds secrets and does not ask itself, unlike those of the library.
  private func needsGuard(_ location: DomainLocation) -> Bool {
    switch location {
    case .engine(let name): return keepsSecrets(.engine(name.description))
    case .store(let store):
      guard keepsSecrets(.store(store)) else { return false }
      if case .other = store { return true }
      return isInMemory || engine(at: location) != nil
    }
  }
}
