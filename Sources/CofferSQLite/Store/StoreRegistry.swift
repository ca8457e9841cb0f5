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

  private struct State {
    var stores: [FileIdentity: Registration] = [:]
    /// Files whose device has failed while this process wrote them.
    var suspects: Set<FileIdentity> = []
  }

  private let state = Locked(State())
  /// Opening waits for disks and locks, so it has a thread of its own; one at a time, so that a file is opened once.
  private let queue = DispatchQueue(label: "coffer.open")

  /// A store with one handle counted for the caller.
  func open(_ path: String, configuration: SQLiteConfiguration) async throws -> SQLiteStore {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(with: Result { try openNow(path, configuration: configuration) })
      }
    }
  }

  /// The same for callers that cannot suspend: it blocks their thread while the file is opened.
  func openBlocking(_ path: String, configuration: SQLiteConfiguration) throws -> SQLiteStore {
    try queue.sync { try openNow(path, configuration: configuration) }
  }

  private func openNow(_ path: String, configuration: SQLiteConfiguration) throws -> SQLiteStore {
    let place = try StorePlace.resolve(path, configuration: configuration)
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

  /// Forgets a store that ends, unless another has taken its place meanwhile.
  func remove(_ identity: FileIdentity, _ token: StoreToken, mustVerify: Bool) {
    state.withLock { state in
      if state.stores[identity]?.token === token { state.stores[identity] = nil }
      if mustVerify { state.suspects.insert(identity) }
    }
  }
}

/// Tells one opening of a file from the next.
final class StoreToken: Sendable {}
