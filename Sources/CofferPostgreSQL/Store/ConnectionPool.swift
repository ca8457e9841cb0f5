import CofferCore

/// Lends connections, each to one task at a time, and opens up to a limit of them.
final class ConnectionPool<Connection: Sendable>: Sendable {
  private struct State {
    var idle: [Connection] = []
    /// The number of connections that are lent, or are being opened.
    var lent = 0
    var waiting = FairQueue<Void>()
    var isClosed = false
  }

  private let limit: Int
  private let isUsable: @Sendable (Connection) -> Bool
  private let state = Locked(State())

  init(limit: Int, isUsable: @escaping @Sendable (Connection) -> Bool) {
    self.limit = max(1, limit)
    self.isUsable = isUsable
  }

  /// Lends a connection to `body`: an idle one, or one that `open` opens. Waits while the limit is reached.
  /// - Throws: Any error of `open` and `body`; `CancellationError` if the task was cancelled while it waited.
  func lend<R>(_ open: () async throws -> Connection, to body: (Connection) async throws -> R) async throws -> R {
    try Task.checkCancellation()
    try await state.wait(in: \.waiting) { [limit] state in
      guard state.lent < limit else { return nil }
      state.lent += 1
      return ()
    }
    let connection: Connection
    do {
      if let idle = takeIdle() { connection = idle } else { connection = try await open() }
    } catch {
      leave(nil)
      throw error
    }
    defer { leave(connection) }
    return try await body(connection)
  }

  private func takeIdle() -> Connection? {
    state.withLock { state in
      while let connection = state.idle.popLast() {
        if isUsable(connection) { return connection }
      }
      return nil
    }
  }

  /// Takes a connection back, and passes it to the task that has waited longest.
  private func leave(_ connection: Connection?) {
    let next = state.withLock { state in
      if let connection, isUsable(connection), !state.isClosed { state.idle.append(connection) }
      let next = state.waiting.takeFirst()
      if next == nil { state.lent -= 1 }
      return next
    }
    next?.resume()
  }

  /// Releases the idle connections, which closes them.
  func releaseIdle() { state.withLock { $0.idle = [] } }

  /// Returns the idle connections for the caller to close. Those that are lent are not kept when they come back.
  func close() -> [Connection] {
    state.withLock { state in
      state.isClosed = true
      defer { state.idle = [] }
      return state.idle
    }
  }
}
