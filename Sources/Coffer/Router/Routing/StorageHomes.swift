import CofferLocks

/// The homes that a router has opened, each once however many domains lead to it.
final class StorageHomes: Sendable {
  private typealias Opening = Task<TypedStore, any Error>

  private enum Home {
    case opening(Opening)
    case open(TypedStore)
  }

  private struct State {
    var homes: [DomainHome: Home] = [:]
    var isClosed = false
  }

  private let configuration: StorageConfiguration
  private let state = Locked(State())

  init(_ configuration: StorageConfiguration) { self.configuration = configuration }

  /// The store of a place, opened now if it is not open. One that cannot be opened is tried again by the next caller.
  func store(at place: DomainHome) async throws -> TypedStore {
    let opening: Opening = try state.withLock { state throws -> Opening in
      guard !state.isClosed else { throw StorageError.closed("router") }
      switch state.homes[place] {
      case .open(let store): return Task { store }
      case .opening(let task): return task
      case nil:
        let task = Task { [configuration] in
          TypedStore(engine: try await place.open(configuration), cacheCapacity: configuration.cacheCapacity)
        }
        state.homes[place] = .opening(task)
        return task
      }
    }
    let result = await opening.result
    state.withLock { state in
      guard case .opening(let task)? = state.homes[place], task == opening else { return }
      state.homes[place] = (try? result.get()).map { .open($0) }
    }
    return try result.get()
  }

  /// The places that are open.
  var places: [DomainHome] {
    state.withLock { state in
      state.homes.compactMap { place, home in if case .open = home { place } else { nil } }
    }
  }

  /// Closes what was opened here; engines that were given stay open.
  func close() async throws {
    let homes = state.withLock { state in
      state.isClosed = true
      defer { state.homes = [:] }
      return state.homes
    }
    var failure: (any Error)?
    for (place, home) in homes {
      if case .engine = place { continue }
      do {
        switch home {
        case .open(let store): try await store.engine.close()
        case .opening(let task):
          guard let store = try? await task.value else { continue }  // Its waiters are told why.
          try await store.engine.close()
        }
      } catch { failure = error }
    }
    if let failure { throw failure }
  }
}
