import CofferLocks

/// The stores that a router has opened, each once however many domains resolve to it.
final class OpenStores: Sendable {
  private typealias Opening = Task<TypedStore, any Error>

  private enum OpenStore {
    case opening(Opening)
    case open(TypedStore)
  }

  private struct State {
    var stores: [DomainLocation: OpenStore] = [:]
    var isClosed = false
  }

  private let configuration: StorageConfiguration
  private let state = Locked(State())
  private let onOpen: @Sendable () -> Void

  /// - Parameter onOpen: called after a store was opened, before it is used.
  init(_ configuration: StorageConfiguration, onOpen: @escaping @Sendable () -> Void) {
    self.configuration = configuration
    self.onOpen = onOpen
  }

  /// Returns the store of a domain, and opens it if necessary. If that fails, the next call tries again.
  func store(of domain: StorageDomain) async throws -> TypedStore {
    let location = try DomainLocation(domain, configuration)
    let opening: Opening = try state.withLock { state throws -> Opening in
      guard !state.isClosed else { throw StorageError.closed("router") }
      switch state.stores[location] {
      case .open(let store): return Task { store }
      case .opening(let task): return task
      case nil:
        let task = Task { [configuration] in
          TypedStore(
            engine: try await location.open(configuration.opening(domain)), cacheCapacity: configuration.cacheCapacity,
            damagePolicy: configuration.damagePolicy(at: location), onDamageHandled: configuration.onDamageHandled)
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

  /// The open stores with their locations.
  var open: [(location: DomainLocation, store: TypedStore)] {
    state.withLock { state in
      state.stores.compactMap { location, store in if case .open(let store) = store { (location, store) } else { nil } }
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
        case .open(let store): try await store.engine.close()
        case .opening(let task):
          guard let store = try? await task.value else { continue }  // The callers of `store(of:)` receive the error.
          try await store.engine.close()
        }
      } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
