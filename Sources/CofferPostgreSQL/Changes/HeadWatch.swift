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
    var waiting = FairQueue<Void>()
  }

  private let state = Locked(State())

  func ring() {
    let waiting = state.withLock { state in
      state.isRung = true
      return state.waiting.takeAll()
    }
    for waiter in waiting { waiter.resume() }
  }

  /// Waits for a ring; one task at a time.
  /// - Returns: `false` if the time has passed or the task was cancelled.
  func wait(atMost time: Duration) async -> Bool {
    try? await withDeadline(time, orThrow: CancellationError()) { [state] in
      try await state.wait(in: \.waiting) { $0.isRung ? () : nil }
    }
    return state.withLock { state in
      defer { state.isRung = false }
      return state.isRung
    }
  }
}
