import CofferCore
import CofferLocks
import Foundation

/// The stores that this process has open, one for each file, however its path is written.
final class StoreRegistry: Sendable {
  static let shared = StoreRegistry()

  private struct Registration {
    weak var store: SQLiteStore?
    let token: StoreToken
  }

  /// Where the openings of one file wait for each other, so that it is opened once.
  private struct Gate {
    let queue = DispatchQueue(label: "coffer.open")
    /// How many openings wait or are under way; the gate goes with the last.
    var visitors = 0
  }

  private struct State {
    var stores: [FileIdentity: Registration] = [:]
    /// Files whose device has failed while this process wrote them.
    var suspects: Set<FileIdentity> = []
    var gates: [FileIdentity: Gate] = [:]
  }

  private let state = Locked(State())

  /// A store with one handle counted for the caller.
  ///
  /// Opening waits for disks and locks, so it has threads of its own, and no file waits for another one.
  func open(_ path: String, configuration: SQLiteConfiguration) async throws -> SQLiteStore {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "coffer.resolve").async { [self] in
        do {
          let (place, identity) = try resolve(path, configuration)
          enter(identity).async { [self] in
            let result = Result { try openNow(place, configuration: configuration) }
            leave(identity)
            continuation.resume(with: result)
          }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }

  /// The same for callers that cannot suspend: it blocks their thread while the file is opened.
  func openBlocking(_ path: String, configuration: SQLiteConfiguration) throws -> SQLiteStore {
    let (place, identity) = try resolve(path, configuration)
    let queue = enter(identity)
    defer { leave(identity) }
    return try queue.sync { try openNow(place, configuration: configuration) }
  }

  private func resolve(
    _ path: String, _ configuration: SQLiteConfiguration
  ) throws -> (place: StorePlace, identity: FileIdentity) {
    let place = try StorePlace.resolve(path, configuration: configuration)
    guard let identity = FileIdentity(place.path) else {
      throw StorageError.system("stat", path: place.path, errno: errno, backend: place.description)
    }
    return (place, identity)
  }

  private func enter(_ identity: FileIdentity) -> DispatchQueue {
    state.withLock { state in
      state.gates[identity, default: Gate()].visitors += 1
      return state.gates[identity, default: Gate()].queue
    }
  }

  private func leave(_ identity: FileIdentity) {
    state.withLock { state in
      state.gates[identity]?.visitors -= 1
      if state.gates[identity]?.visitors == 0 { state.gates[identity] = nil }
    }
  }

  private func openNow(_ place: StorePlace, configuration: SQLiteConfiguration) throws -> SQLiteStore {
    if let identity = FileIdentity(place.path),
      let store = state.withLock({ $0.stores[identity]?.store }), store.retain()
    {
      return store
    }
    let mustVerify = FileIdentity(place.path).map { identity in
      state.withLock { $0.suspects.contains(identity) }
    }
    let store = try SQLiteStore(place: place, configuration: configuration, mustVerify: mustVerify ?? false)
    state.withLock { state in
      state.stores[store.identity] = Registration(store: store, token: store.token)
      state.suspects.remove(store.identity)
    }
    return store
  }

  /// Whether this process has that file open as a store.
  func hasOpen(_ identity: FileIdentity) -> Bool { state.withLock { $0.stores[identity]?.store != nil } }

  /// Shows the thread sanitizer that a store was made before it is used: it does not see that a continuation, resumed
  /// before anybody waits for it, orders its two sides, but it sees the lock that both take.
  func showOrder() {
    #if COFFER_TSAN
      state.withLock { _ in }
    #endif
  }

  /// Removes a store that ends from the registry, unless another one is registered in its place by now.
  func remove(_ identity: FileIdentity, _ token: StoreToken, mustVerify: Bool) {
    state.withLock { state in
      if state.stores[identity]?.token === token { state.stores[identity] = nil }
      if mustVerify { state.suspects.insert(identity) }
    }
  }
}

/// Tells one opening of a file from the next.
final class StoreToken: Sendable {}
