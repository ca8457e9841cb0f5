import CofferCore

/// A subscriber that reads a stream in its own task, so that a check can wait for elements with a deadline.
final class Listener<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var isFinished = false
    var waiting = FairQueue<Void>()
  }

  private let state: Locked<State>
  private let task: Task<Void, Never>
  private let deadline: Duration

  init(_ stream: AsyncStream<Element>, deadline: Duration) {
    let state = Locked(State())
    self.state = state
    self.deadline = deadline
    task = Task {
      for await element in stream {
        let waiting = state.withLock { state in
          state.elements.append(element)
          return state.waiting.takeAll()
        }
        for waiter in waiting { waiter.resume() }
      }
      let waiting = state.withLock { state in
        state.isFinished = true
        return state.waiting.takeAll()
      }
      for waiter in waiting { waiter.resume() }
    }
  }

  deinit { task.cancel() }

  /// The elements received so far.
  var elements: [Element] { state.withLock { $0.elements } }

  /// Cancels the task that reads the stream.
  func cancel() { task.cancel() }

  /// Waits for the end of the stream and returns all its elements.
  func untilEnd(_ what: String, file: String = #fileID, line: UInt = #line) async throws -> [Element] {
    try await wait("\(what) to end", file: file, line: line) { _, isFinished in isFinished }
  }

  /// Waits until `isEnough` returns true for the elements received so far, and returns them.
  func wait(
    _ what: String, file: String = #fileID, line: UInt = #line,
    until isEnough: @escaping @Sendable ([Element], _ isFinished: Bool) -> Bool
  ) async throws -> [Element] {
    try await withDeadline(deadline, what, file: file, line: line) { [state] in
      while true {
        let (count, isFinished, isMet) = state.withLock {
          ($0.elements.count, $0.isFinished, isEnough($0.elements, $0.isFinished))
        }
        if isMet { return state.withLock { $0.elements } }
        try await state.wait(in: \.waiting) { $0.elements.count > count || $0.isFinished != isFinished ? () : nil }
      }
    }
  }
}

extension Listener where Element == StoreChange {
  /// Waits for `revision` and returns the changes up to the first one that reaches it.
  func changes(
    upTo revision: StoreRevision, _ who: String = "a subscriber", file: String = #fileID, line: UInt = #line
  ) async throws -> [StoreChange] {
    let heard = try await wait("\(who) to receive revision \(revision)", file: file, line: line) {
      changes, isFinished in
      isFinished || changes.contains { $0.revision >= revision }
    }
    guard let end = heard.firstIndex(where: { $0.revision >= revision }) else {
      throw Unmet(
        sentence: "Expected \(who) to receive revision \(revision); its stream ended after \(heard.map(\.revision)).",
        file: file, line: line)
    }
    return Array(heard[...end])
  }

  /// Waits for `revision` and returns the commits up to it. Throws ``Unmet`` if there is a `reload` among them.
  func commits(
    upTo revision: StoreRevision, _ who: String = "a subscriber", file: String = #fileID, line: UInt = #line
  ) async throws -> [StoreCommit] {
    try await changes(upTo: revision, who, file: file, line: line).map { change in
      guard case .commit(let commit) = change else {
        throw Unmet(
          sentence: "Expected \(who) to receive every commit up to \(revision); it received \(change).", file: file,
          line: line)
      }
      return commit
    }
  }
}
