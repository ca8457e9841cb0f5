import CofferCore

/// A set of asynchronous locks, one per key, which are acquired in the order of arrival.
package final class KeyedQueue: Sendable {
  private struct Waiter {
    let id: UInt64
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    /// The waiters of each key that is locked.
    var waiters: [KeyName: [Waiter]] = [:]
    var nextID: UInt64 = 0
  }

  private let state = Locked(State())

  package init() {}

  /// Runs `body` while holding the lock of a key.
  /// - Throws: `CancellationError` when the task was cancelled while it waited, and any error of `body`.
  package func run<R>(_ key: KeyName, _ body: () async throws -> R) async throws -> R {
    guard await enter(key) else { throw CancellationError() }
    defer { leave(key) }
    return try await body()
  }

  /// Acquires the lock of a key. Returns `false` when the task was cancelled first.
  private func enter(_ key: KeyName) async -> Bool {
    let id = state.withLock { state -> UInt64? in
      guard state.waiters[key] != nil else {
        state.waiters[key] = []
        return nil
      }
      state.nextID += 1
      return state.nextID
    }
    guard let id else { return true }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          // A cancellation before this point has set the flag; a later one finds the waiter.
          guard !Task.isCancelled else { return false }
          guard state.waiters[key] != nil else {
            state.waiters[key] = []
            return true
          }
          state.waiters[key]?.append(Waiter(id: id, continuation: continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        guard let index = state.waiters[key]?.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiters[key]?.remove(at: index)
      }
      waiter?.continuation.resume(returning: false)
    }
  }

  private func leave(_ key: KeyName) {
    let next = state.withLock { state -> Waiter? in
      guard state.waiters[key]?.isEmpty == false else {
        state.waiters[key] = nil
        return nil
      }
      return state.waiters[key]?.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }
}
