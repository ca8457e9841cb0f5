import CofferCore

/// Lends connections, each to one task at a time, and opens up to a limit of them.
final class ConnectionPool<Connection: Sendable>: Sendable {
  private struct State {
    var idle: [Connection] = []
    /// The number of connections that are lent, or are being opened.
    var lent = 0
    var waiting: [(id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
    var lastID: UInt64 = 0
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
    try await enter()
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

  private func enter() async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Void, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.lent < limit {
            state.lent += 1
            return .success(())
          }
          state.waiting.append((id, continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
        guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiting.remove(at: index).continuation
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  /// Takes a connection back, and passes it to the task that has waited longest.
  private func leave(_ connection: Connection?) {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      if let connection, isUsable(connection), !state.isClosed { state.idle.append(connection) }
      guard !state.waiting.isEmpty else {
        state.lent -= 1
        return nil
      }
      return state.waiting.removeFirst().continuation
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
