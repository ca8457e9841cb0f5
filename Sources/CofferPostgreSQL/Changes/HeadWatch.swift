import CofferCore

/// Looks at the head of a store for commits of other processes: between 250 ms and 2 s after the last look, and at once
/// when a hint arrives. The journal is the truth; a hint that is lost only delays.
final class HeadWatch: Sendable {
  private static let shortest = Duration.milliseconds(250)
  private static let longest = Duration.seconds(2)

  /// Rung by hints.
  let bell = Bell()
  private let task = Locked<Task<Void, Never>?>(nil)

  /// Starts watching a store, which this does not retain while it waits.
  func start(weakly store: PostgreSQLStore) {
    task.withLock { task in
      task = Task { [bell, weak store] in
        var pause = Self.shortest
        while !Task.isCancelled {
          let isRung = await bell.wait(atMost: pause)
          guard !Task.isCancelled, let store else { return }
          let isNews = (try? await store.lookAtHead()) ?? false
          pause = isNews || isRung ? Self.shortest : min(pause * 3 / 2, Self.longest)
        }
      }
    }
  }

  func stop() { task.withLock { $0 }?.cancel() }

  deinit { stop() }
}

/// Wakes one waiting task. A ring without a waiting task ends the next wait at once.
final class Bell: Sendable {
  private struct State {
    var isRung = false
    var waiting: CheckedContinuation<Bool, Never>?
    /// The number of the wait, so that the end of its time ends no later one.
    var number = 0
    /// The number of the wait whose time ended before its continuation was there.
    var over = 0
  }

  private let state = Locked(State())

  func ring() {
    let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard let waiting = state.waiting else {
        state.isRung = true
        return nil
      }
      state.waiting = nil
      return waiting
    }
    waiting?.resume(returning: true)
  }

  /// Waits for a ring; one task at a time.
  /// - Returns: `false` if the time has passed or the task was cancelled.
  func wait(atMost time: Duration) async -> Bool {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let timer = Task {
      try await Task.sleep(for: time)
      giveUp(number)
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state -> Bool? in
          if state.isRung || Task.isCancelled || state.over == number {
            defer { state.isRung = false }
            return state.isRung
          }
          state.waiting = continuation
          return nil
        }
        if let isDone { continuation.resume(returning: isDone) }
      }
    } onCancel: {
      giveUp(number)
    }
  }

  private func giveUp(_ number: Int) {
    state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard number == state.number else { return nil }
      if state.waiting == nil { state.over = number }
      defer { state.waiting = nil }
      return state.waiting
    }?.resume(returning: false)
  }
}
