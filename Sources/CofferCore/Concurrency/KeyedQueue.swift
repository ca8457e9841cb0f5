/// A set of asynchronous locks, one per key, which are acquired in the order of arrival.
package final class KeyedQueue: Sendable {
  private struct State {
    /// The waiting tasks of each locked key.
    var lines: [KeyName: FairQueue<Void>] = [:]

    subscript(line key: KeyName) -> FairQueue<Void> {
      get { lines[key] ?? FairQueue() }
      set { lines[key] = newValue }
    }
  }

  private let state = Locked(State())

  package init() {}

  /// Runs `body` while holding the lock of a key.
  /// - Throws: `CancellationError` when the task was cancelled while it waited, and any error of `body`.
  package func run<R>(_ key: KeyName, _ body: () async throws -> R) async throws -> R {
    let lock: @Sendable (inout State) -> Void? = { state in
      guard state.lines[key] == nil else { return nil }
      state.lines[key] = FairQueue()
      return ()
    }
    // Tried first, since the key path to a line is built each time.
    if state.withLock({ lock(&$0) }) == nil { try await state.wait(in: \.[line: key], unless: lock) }
    defer { leave(key) }
    return try await body()
  }

  private func leave(_ key: KeyName) {
    let next = state.withLock { state in
      let next = state.lines[key]?.takeFirst()
      if next == nil { state.lines[key] = nil }
      return next
    }
    next?.resume()
  }
}
