import Coffer
import CofferCore
import CofferEncryption
import CofferFiles

/// The stores that a router has opened, each once however many domains resolve to it.
final class OpenStores: Sendable {
  private typealias Opening = Task<TypedStore, any Error>

  private enum OpenStore {
    case opening(Opening)
    case open(TypedStore)

    /// The store, unless it is still being opened.
    var store: TypedStore? { if case .open(let store) = self { store } else { nil } }
  }

  private struct State {
    var stores: [DomainLocation: OpenStore] = [:]
    var isClosed = false
  }

  private let configuration: StorageConfiguration
  private let declarations: Declarations
  private let state = Locked(State())
  private let onOpen: @Sendable () -> Void

  /// - Parameters:
  ///   - registry: the keys, which declare what is rare about their values.
  ///   - onOpen: called after a store was opened, before it is used.
  init(_ configuration: StorageConfiguration, _ registry: KeyRegistry, onOpen: @escaping @Sendable () -> Void) {
    self.configuration = configuration
    declarations = registry.declarations
    self.onOpen = onOpen
  }

  /// Opens the encryption of a domain's store and anchors it as it is.
  /// - Throws: `busy` if it is open already; `unsupported`; the errors of `EncryptedEngine.acceptRollback`.
  func acceptRollback(of domain: StorageDomain) async throws {
    let location = try DomainLocation(domain, configuration)
    let isOwn = !configuration.isInMemory && configuration.engine(at: location) == nil
    guard mayEncrypt(location) || location.isEncrypted && isOwn else {
      throw StorageError.holdsNothingEncrypted(domain, "accepting an older copy of a store")
    }
    guard locations.contains(location) else {
      _ = try await store(of: domain, acceptingRollback: true)
      return
    }
    // Plain values of a store can be used although its key ring was refused.
    let engine = try await store(of: domain).engine
    guard let selective = engine.as(SelectiveEncryption.self) else {
      throw StorageError.isOpenForAcceptance(engine.description)
    }
    try await selective.acceptRollback()
  }

  /// Returns the store of a domain, and opens it if necessary. If that fails, the next call tries again.
  /// - Parameter accepts: whether a store that is not open yet is anchored as it is.
  ///
  /// Pending writes of the store are committed first: the caller is about to use its engine.
  func store(of domain: StorageDomain, acceptingRollback accepts: Bool = false) async throws -> TypedStore {
    let store = try await unflushedStore(of: domain, acceptingRollback: accepts)
    try await store.flush()
    return store
  }

  private func unflushedStore(
    of domain: StorageDomain, acceptingRollback accepts: Bool = false
  ) async throws -> TypedStore {
    let location = try DomainLocation(domain, configuration)
    let opening: Opening = try state.withLock { state throws -> Opening in
      guard !state.isClosed else { throw StorageError.closed("router") }
      switch state.stores[location] {
      case .open(let known):
        guard lacksEncryption(known, location) else { return Task { known } }
        // Before the first use of a key that was declared after the store was opened.
        let engine = encryption(over: known.engine, domain, location)
        let store = typedStore(over: engine, location, origin: known.origin)
        state.stores[location] = .open(store)
        return Task { store }
      case .opening(let task): return task
      case nil:
        let task = Task { [self] in
          let declared = declarations.at(location)
          var settings = configuration.opening(domain).encrypting(declared)
          settings.encryption.acceptsRollback = accepts
          let engine = try await settings.openGuarded(location) { declared.control(of: $0) }
          return typedStore(over: try await encrypted(engine, domain, location, accepts), location)
        }
        state.stores[location] = .opening(task)
        return task
      }
    }
    let result = await opening.result
    let isOpened = state.withLock { state in
      guard case .opening(let task)? = state.stores[location], task == opening else { return false }
      state.stores[location] = (try? result.get()).map { .open($0) }
      return state.stores[location] != nil
    }
    if isOpened { onOpen() }
    let store = try result.get()
    return lacksEncryption(store, location) ? try await unflushedStore(of: domain) : store
  }

  /// Returns the store of a key, with its key ring opened if the key's values are encrypted.
  ///
  /// If the encryption key is not available, the call throws, and the other keys can be used nevertheless.
  func store(of record: KeyRegistry.Record) async throws -> TypedStore {
    let domain = record.descriptor.domain
    guard case .encrypted(let policy) = record.descriptor.security else { return try await unflushedStore(of: domain) }
    let location = try DomainLocation(domain, configuration)
    if mayEncrypt(location) {
      // A store that does not exist yet is not created for a key whose provider is missing.
      let stores = configuration.opening(domain).stores
      _ = try stores.encryption.source(policy.keyMaterial, stores.keychain)
    }
    let store = try await unflushedStore(of: domain)
    try await store.engine.as(SelectiveEncryption.self)?.open()
    return store
  }

  /// Whether keys of a store can be encrypted although the store itself is not: neither in a store for secrets, nor in
  /// one that the program encrypts itself, nor in one that takes the place of another in tests.
  private func mayEncrypt(_ location: DomainLocation) -> Bool {
    if case .store(let store) = location, store.keepsSecrets { return false }
    guard let given = configuration.engine(at: location) else { return !configuration.isInMemory }
    return !configuration.isReplaced(location) && !given.capabilities.contains(.secrecy)
      && given.as(EncryptedEngine.self) == nil
  }

  /// Returns an engine that encrypts the values of the keys that declare it, now or later.
  private func encryption(
    over engine: any StorageEngine, _ domain: StorageDomain, _ location: DomainLocation
  ) -> SelectiveEncryption {
    let (declared, configuration) = (declarations.at(location), configuration.opening(domain))
    return SelectiveEncryption(
      engine, configuration: configuration.encrypting(declared).encryption.configurationOfSingleKeys(in: engine)
    ) {
      declared.encryption(of: $0) != nil
    } key: {
      try configuration.encryption.source(declared.material, configuration.stores.keychain)
    }
  }

  /// Returns the engine of a store that was just opened: behind the encryption only if its key ring says so, or a key
  /// declares it. Pending writes stay with one engine, so that a store with write-back has it in any case.
  private func encrypted(
    _ engine: any StorageEngine, _ domain: StorageDomain, _ location: DomainLocation, _ acceptsRollback: Bool
  ) async throws -> any StorageEngine {
    guard mayEncrypt(location), engine.as(EncryptedEngine.self) == nil else { return engine }
    let encryption = encryption(over: engine, domain, location)
    do {
      if acceptsRollback {
        try await encryption.acceptRollback()
        return encryption
      }
      if let engine = try await encryption.engineOfRing() { return engine }
    } catch {
      if configuration.engine(at: location) == nil { try? await engine.close() }
      throw error
    }
    if case .back = configuration.writePolicy(at: location) { return encryption }
    return declarations.at(location).encrypts ? encryption : engine
  }

  /// Whether a key has declared its encryption since a store was opened.
  private func lacksEncryption(_ store: TypedStore, _ location: DomainLocation) -> Bool {
    declarations.at(location).encrypts && store.engine.as(SelectiveEncryption.self) == nil
      && store.engine.as(EncryptedEngine.self) == nil && mayEncrypt(location)
  }

  private func typedStore(
    over engine: any StorageEngine, _ location: DomainLocation, origin: StoreOrigin = StoreOrigin()
  ) -> TypedStore {
    let declared = declarations.at(location)
    return TypedStore(
      engine: engine, cache: configuration.cachePolicy(at: location),
      writePolicy: configuration.writePolicy(at: location), origin: origin,
      damagePolicy: configuration.damagePolicy(at: location), onDamageHandled: configuration.onDamageHandled,
      schema: StoreSchema { declared.schema(of: $0) })
  }

  /// The open stores with their locations.
  var open: [(location: DomainLocation, store: TypedStore)] {
    state.withLock { state in
      state.stores.compactMap { location, open in open.store.map { (location, $0) } }
    }
  }

  /// The locations of the open stores.
  var locations: [DomainLocation] { open.map(\.location) }

  /// Commits pending writes and closes the stores that were opened here. Engines of the configuration stay open. A
  /// store that cannot be closed is kept for another call.
  func close() async throws {
    let stores = state.withLock { state in
      state.isClosed = true
      defer { state.stores = [:] }
      return state.stores
    }
    var failure: (any Error)?
    for (location, open) in stores {
      // The callers of `store(of:)` receive the error of an opening.
      let store: TypedStore? =
        switch open {
        case .open(let store): store
        case .opening(let task): try? await task.value
        }
      guard let store else { continue }
      do {
        if configuration.engine(at: location) == nil {
          try await store.close()
        } else {
          try await store.pending?.close()
        }
      } catch {
        failure = error
        if store.pendingWrites.count > 0 { state.withLock { $0.stores[location] = .open(store) } }
      }
    }
    if let failure { throw failure }
  }
}
