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
    case .store(.other(let scheme, _)): stores.schemes.first { $0.name == scheme }?.keepsSecrets ?? true
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
