import CofferCore
import Foundation

/// The databases and stores that this process has open, one for each location.
final class DatabaseRegistry: Sendable {
  static let shared = DatabaseRegistry()

  private struct State {
    /// The open databases, by the text of their location, with the number of their stores.
    var databases: [Data: (database: PostgreSQLDatabase, uses: Int)] = [:]
    var stores: [Data: PostgreSQLStore] = [:]
    /// The openings that are under way, so that a store is opened once.
    var openings: [Data: Task<PostgreSQLStore, any Error>] = [:]
  }

  private let state = Locked(State())

  /// Returns a store, opening it if necessary, with one handle counted for the caller.
  func store(_ target: ConnectionTarget, _ configuration: PostgreSQLEngine.Configuration) async throws
    -> PostgreSQLStore
  {
    let name = Self.name(target, target.store)
    while true {
      let way = state.withLock { state -> Way in
        if let store = state.stores[name], store.retain() { return .found(store) }
        if let opening = state.openings[name] { return .wait(opening) }
        let opening = Task {
          // Before it has ended, or those that wait for it would find it again and again.
          defer { self.state.withLock { $0.openings[name] = nil } }
          return try await open(target, configuration)
        }
        state.openings[name] = opening
        return .open(opening)
      }
      switch way {
      case .found(let store):
        guard store.isReadOnly, configuration.access == .readWrite else { return store }
        if store.release() { await close(store) }
        throw StorageError.mayOnlyRead(store.location)
      case .wait(let opening): _ = try? await opening.value  // Its caller has the first handle, and its error.
      case .open(let opening): return try await opening.value
      }
    }
  }

  /// How a caller comes to a store.
  private enum Way {
    case found(PostgreSQLStore)
    /// Another caller is opening it.
    case wait(Task<PostgreSQLStore, any Error>)
    case open(Task<PostgreSQLStore, any Error>)
  }

  /// The name of a store among all: its database's, which has no line break, and its own.
  private static func name(_ target: ConnectionTarget, _ store: String) -> Data {
    Data((target.database + "\n" + store).utf8)
  }

  private func open(
    _ target: ConnectionTarget, _ configuration: PostgreSQLEngine.Configuration
  ) async throws -> PostgreSQLStore {
    let database = state.withLock { state -> PostgreSQLDatabase in
      let name = Data(target.database.utf8)
      let database = state.databases[name]?.database ?? PostgreSQLDatabase(target, configuration)
      state.databases[name, default: (database, 0)].uses += 1
      return database
    }
    do {
      let opened = try await StoreOpening(database: database, target: target).open()
      let store = PostgreSQLStore(database, opened)
      try await store.agreeWithJournal(opened)
      state.withLock { $0.stores[Self.name(target, target.store)] = store }
      return store
    } catch {
      await release(database)
      throw error
    }
  }

  /// Closes a store whose last handle was closed.
  func close(_ store: PostgreSQLStore) async {
    state.withLock { state in
      let name = Self.name(store.database.target, store.name)
      if state.stores[name] === store { state.stores[name] = nil }
    }
    await store.close()
    await release(store.database)
  }

  private func release(_ database: PostgreSQLDatabase) async {
    let name = Data(database.target.database.utf8)
    let isLast = state.withLock { state in
      state.databases[name]?.uses -= 1
      guard state.databases[name]?.uses == 0 else { return false }
      state.databases[name] = nil
      return true
    }
    if isLast { await database.close() }
  }
}
