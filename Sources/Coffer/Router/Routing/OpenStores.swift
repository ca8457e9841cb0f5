import CofferLocks
import CofferPresence
import CofferSlots

/// The stores that a router has opened, each once however many domains resolve to it.
final class OpenStores: Sendable {
  private typealias Opening = Task<TypedStore, any Error>

  private enum OpenStore {
    case opening(Opening)
    case open(TypedStore)
    /// An open store whose first encrypted key is used: a store that also encrypts is opened over its engine.
    case extending(TypedStore, Opening)
    /// An open store that encrypts the values of keys that declare it.
    case encrypting(TypedStore)

    /// The store, unless it is still being opened.
    var store: TypedStore? {
      switch self {
      case .opening: nil
      case .open(let store), .extending(let store, _), .encrypting(let store): store
      }
    }
  }

  private struct State {
    var stores: [DomainLocation: OpenStore] = [:]
    var isClosed = false
  }

  private let configuration: StorageConfiguration
  private let accessControls: DeclaredAccessControls
  private let state = Locked(State())
  private let registry: KeyRegistry
  private let onOpen: @Sendable () -> Void

  /// - Parameters:
  ///   - registry: the declarations, which determine the keys whose values are encrypted.
  ///   - onOpen: called after a store was opened, before it is used.
  init(_ configuration: StorageConfiguration, _ registry: KeyRegistry, onOpen: @escaping @Sendable () -> Void) {
    self.configuration = configuration
    self.registry = registry
    accessControls = registry.accessControls
    self.onOpen = onOpen
  }

  /// Returns the store of a domain, and opens it if necessary. If that fails, the next call tries again.
  func store(of domain: StorageDomain) async throws -> TypedStore {
    let location = try DomainLocation(domain, configuration)
    let opening: Opening = try state.withLock { state throws -> Opening in
      guard !state.isClosed else { throw StorageError.closed("router") }
      switch state.stores[location] {
      case .open(let store), .extending(let store, _), .encrypting(let store): return Task { store }
      case .opening(let task): return task
      case nil:
        let task = Task { [self] in
          let settings = settings(of: domain, at: location)
          return typedStore(over: try await settings.openGuarded(location, asking: control(at: location)), location)
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
    return try result.get()
  }

  /// Returns the store of a key whose values are encrypted in a store of plain values. The other keys of that store use
  /// it from then on, too, so that they can be committed together.
  ///
  /// If the encryption key is not available, the call throws, and the other keys can be used as before.
  func encryptingStore(of domain: StorageDomain, _ policy: EncryptionPolicy) async throws -> TypedStore {
    let location = try DomainLocation(domain, configuration)
    let isLost = configuration.isInMemory && configuration.engine(at: location) == nil
    guard !location.isEncrypted, !isLost, !configuration.isReplaced(location) else {
      return try await store(of: domain)
    }
    // A store that does not exist yet is not created for a key whose provider is missing.
    let stores = settings(of: domain, at: location).stores
    _ = try stores.encryption.source(policy.keyMaterial, stores.keychain)
    let plain = try await store(of: domain)
    let extending: Opening = try state.withLock { state throws -> Opening in
      switch state.stores[location] {
      case .encrypting(let store): return Task { store }
      case .extending(_, let task): return task
      case .open, .opening, nil:
        guard !state.isClosed else { throw StorageError.closed("router") }
        let task = Task { [self] in
          typedStore(over: try await stores.encryption.extended(plain.engine, stores), location, plain.origin)
        }
        state.stores[location] = .extending(plain, task)
        return task
      }
    }
    let result = await extending.result
    let isExtended = state.withLock { state in
      guard case .extending(_, let task)? = state.stores[location], task == extending else { return false }
      let store = try? result.get()
      state.stores[location] = store.map { .encrypting($0) } ?? .open(plain)
      return store != nil
    }
    if isExtended { registry.forgetStores(at: location) }
    return try result.get()
  }

  /// The settings for opening a store, with the key material and the algorithms that its keys declare.
  private func settings(of domain: StorageDomain, at location: DomainLocation) -> StorageConfiguration {
    var settings = configuration.opening(domain)
    settings.encryption.material = registry.encryption(at: location)?.keyMaterial
    settings.encryption.algorithm = { [registry] in registry.encryption(of: $0, in: location)?.algorithm }
    return settings
  }

  private func typedStore(
    over engine: any StorageEngine, _ location: DomainLocation, _ origin: StoreOrigin = StoreOrigin()
  ) -> TypedStore {
    TypedStore(
      engine: engine, cacheCapacity: configuration.cacheCapacity, origin: origin,
      damagePolicy: configuration.damagePolicy(at: location), onDamageHandled: configuration.onDamageHandled,
      declaredAccessControl: control(at: location))
  }

  /// Returns the access controls that the keys of a store declare.
  private func control(at location: DomainLocation) -> @Sendable (StoreKey) -> KeychainAccessControl? {
    { [accessControls] key in accessControls.control(of: key, in: location) }
  }

  /// The open stores with their locations.
  var open: [(location: DomainLocation, store: TypedStore)] {
    state.withLock { state in
      state.stores.compactMap { location, open in open.store.map { (location, $0) } }
    }
  }

  /// The locations of the open stores.
  var locations: [DomainLocation] { open.map(\.location) }

  /// Closes the stores that were opened here. Engines of the configuration stay open.
  func close() async throws {
    let stores = state.withLock { state in
      state.isClosed = true
      defer { state.stores = [:] }
      return state.stores
    }
    var failure: (any Error)?
    for (location, store) in stores {
      guard configuration.engine(at: location) == nil else { continue }
      do {
        switch store {
        case .open(let store), .encrypting(let store): try await store.engine.close()
        case .extending(let store, let task):
          _ = await task.result
          try await store.engine.close()
        case .opening(let task):
          guard let store = try? await task.value else { continue }  // The callers of `store(of:)` receive the error.
          try await store.engine.close()
        }
      } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
