import CofferCore
import Foundation

/// The registry of the stores that this process has open, one for each file, however its path is spelled.
final class StoreRegistry: Sendable {
  static let shared = StoreRegistry()

  private struct Registration {
    weak var store: SQLiteStore?
    let token: StoreToken
  }

  /// A serial queue that all openings of one file pass, so that the file is opened once.
  private struct Gate {
    let queue = DispatchQueue(label: "coffer.open")
    /// The number of openings that wait or are under way; the gate is removed after the last.
    var visitors = 0
  }

  private struct State {
    var stores: [FileIdentity: Registration] = [:]
    /// The files with a failed write or sync in this process, which the next opening verifies.
    var suspects: Set<FileIdentity> = []
    var gates: [FileIdentity: Gate] = [:]
  }

  private let state = Locked(State())

  /// Returns the store at `path`, opening it if necessary, with one handle counted for the caller. Blocks the caller's
  /// thread on disks and locks.
  func open(_ path: String, configuration: SQLiteEngine.Configuration) throws -> SQLiteStore {
    let (file, identity) = try resolve(path, configuration)
    if let open = opened(identity) { return open }
    let queue = enter(identity)
    defer { leave(identity) }
    return try queue.sync { try openNow(file, configuration: configuration) }
  }

  private func resolve(
    _ path: String, _ configuration: SQLiteEngine.Configuration
  ) throws -> (file: StoreFile, identity: FileIdentity) {
    let file = try StoreFile.resolve(path, configuration: configuration)
    guard let identity = FileIdentity(file.path) else {
      throw StorageError.system("stat", path: file.path, errno: errno, location: file.description)
    }
    return (file, identity)
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

  private func openNow(_ file: StoreFile, configuration: SQLiteEngine.Configuration) throws -> SQLiteStore {
    let identity = FileIdentity(file.path)
    if let open = identity.flatMap(opened) { return open }
    // Looked up last: a store that is just closing may add its file.
    let mustVerify = identity.map { identity in state.withLock { $0.suspects.contains(identity) } } ?? false
    let store = try SQLiteStore(file: file, configuration: configuration, mustVerify: mustVerify)
    state.withLock { state in
      state.stores[store.identity] = Registration(store: store, token: store.token)
      if mustVerify { state.suspects.remove(store.identity) }
    }
    return store
  }

  /// Returns the open store of a file, with one handle counted for the caller; `nil` if there is none.
  private func opened(_ identity: FileIdentity) -> SQLiteStore? {
    let open = state.withLock { $0.stores[identity]?.store }
    return open.flatMap { $0.retain() ? $0 : nil }
  }

  /// Whether this process has a file open as a store.
  func hasOpen(_ identity: FileIdentity) -> Bool { state.withLock { $0.stores[identity]?.store != nil } }

  /// Orders the creation of a store before its use for the thread sanitizer.
  ///
  /// The sanitizer does not detect the ordering by a continuation that is resumed before it is awaited, but it detects
  /// the lock that both sides take.
  func showOrder() {
    #if COFFER_TSAN
      state.withLock { _ in }
    #endif
  }

  /// Removes a store from the registry, unless the file was opened again since and another store is registered for it.
  /// - Parameter mustVerify: whether the next opening of the file verifies it.
  func remove(_ identity: FileIdentity, _ token: StoreToken, mustVerify: Bool) {
    state.withLock { state in
      if state.stores[identity]?.token === token { state.stores[identity] = nil }
      if mustVerify { state.suspects.insert(identity) }
    }
  }
}

/// An object whose identity distinguishes one opening of a file from the next.
final class StoreToken: Sendable {}
