import CofferCore
import Testing

@Suite("Tasks that wait in a queue, or for one result", .timeLimit(.minutes(1)))
struct FairQueueTests {
  private struct State {
    var isFree = false
    var isRefused = false
    var waiting = FairQueue<Int>()
  }

  private struct Refusal: Error {}

  private let state = Locked(State())

  private func wait() async throws -> Int {
    try await state.wait(in: \.waiting) { state in
      if state.isRefused { throw Refusal() }
      return state.isFree ? 0 : nil
    }
  }

  /// Returns once this number of tasks wait.
  private func waiting(_ count: Int) async {
    while state.withLock({ $0.waiting.count }) != count { await Task.yield() }
  }

  @Test("What is there need not be waited for, and an error of the look is thrown, also to a cancelled task")
  func immediate() async throws {
    state.withLock { $0.isFree = true }
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await wait()
    }
    #expect(try await wait() == 0)
    #expect(try await cancelled.value == 0)
    state.withLock { $0.isRefused = true }
    await #expect(throws: Refusal.self) { try await wait() }
    #expect(state.withLock { $0.waiting.isEmpty })
  }

  @Test("Tasks are taken out in the order of their arrival, without those that were cancelled")
  func order() async throws {
    var tasks: [Task<Int, any Error>] = []
    for count in 1...5 {
      tasks.append(Task { try await wait() })
      await waiting(count)
    }
    tasks[1].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[1].value }
    await waiting(4)
    state.withLock { $0.waiting.takeFirst() }?.resume(returning: 1)
    #expect(try await tasks[0].value == 1)
    for waiter in state.withLock({ $0.waiting.takeAll() }) { waiter.resume(returning: 2) }
    for task in tasks[2...] { #expect(try await task.value == 2) }
    #expect(state.withLock { $0.waiting.takeFirst() == nil })
  }

  @Test("A task that is cancelled before it waits does not join the queue")
  func cancelledBefore() async {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await wait()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(state.withLock { $0.waiting.isEmpty })
  }

  @Test("A task is recognized in a queue that has taken the place of the one at which it arrived")
  func replaced() async throws {
    let looks = Locked(0)
    let other = Task { try await wait() }
    await waiting(1)
    let kept = state.withLock { state in
      defer { state.waiting = FairQueue() }
      return state.waiting
    }
    let task = Task {
      try await state.wait(in: \.waiting) { state -> Int? in
        // Before the second look, after which the task joins the queue.
        let isSecond = looks.withLock { looks in
          looks += 1
          return looks == 2
        }
        if isSecond { state.waiting = kept }
        return nil
      }
    }
    await waiting(2)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    state.withLock { $0.waiting.takeFirst() }?.resume(returning: 4)
    #expect(try await other.value == 4)
  }

  @Test("Each of many tasks is resumed once, when they are cancelled and taken out at the same time")
  func race() async {
    for _ in 0..<500 {
      let tasks = (0..<4).map { _ in Task { try await wait() } }
      await waiting(4)
      async let cancelled: Void = { for task in tasks { task.cancel() } }()
      while let waiter = state.withLock({ $0.waiting.takeFirst() }) { waiter.resume(returning: 3) }
      await cancelled
      for task in tasks {
        switch await task.result {
        case .success(let value): #expect(value == 3)
        case .failure(let error): #expect(error is CancellationError)
        }
      }
      #expect(state.withLock { $0.waiting.isEmpty })
    }
  }

  @Test("Locks of a key are acquired in the order of arrival, and one that was cancelled is not acquired")
  func keyed() async throws {
    let queue = KeyedQueue()
    let (key, other): (KeyName, KeyName) = ("key", "other")
    let entered = Locked<[Int]>([])
    let open = Promise<Void>()
    let first = Task { try await queue.run(key) { try await open.value() } }
    try await queue.run(other) { entered.withLock { $0.append(0) } }  // Another key is free.
    while await isFree(queue, key) { await Task.yield() }
    let second = Task { try await queue.run(key) { entered.withLock { $0.append(1) } } }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    open.end(.success(()))
    try await first.value
    try await queue.run(key) { entered.withLock { $0.append(2) } }
    #expect(entered.withLock { $0 } == [0, 2])
  }

  /// Whether a lock is free: a task that is cancelled acquires it only then.
  private func isFree(_ queue: KeyedQueue, _ key: KeyName) async -> Bool {
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return (try? await queue.run(key) { true }) ?? false
    }.value
  }

  @Test("The first result counts, for those who wait and for those who ask later")
  func promise() async throws {
    let promise = Promise<Int>()
    let early = (0..<3).map { _ in Task { try await promise.value() } }
    let cancelled = Task { try await promise.value() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(promise.end(.success(1)))
    #expect(!promise.end(.failure(Refusal())))
    for task in early { #expect(try await task.value == 1) }
    #expect(try await promise.value() == 1)
    #expect(try await promise.value(within: .seconds(60), orThrow: Refusal()) == 1)
  }

  @Test("A deadline ends the wait, not the work of others; its own work is cancelled")
  func deadline() async throws {
    let promise = Promise<Int>()
    await #expect(throws: Refusal.self) { try await promise.value(within: .milliseconds(1), orThrow: Refusal()) }
    promise.end(.success(2))
    #expect(try await promise.value() == 2)
    let ended = Promise<Void>()
    await #expect(throws: Refusal.self) {
      try await withDeadline(.milliseconds(1), orThrow: Refusal()) {
        do { try await Promise<Void>().value() } catch { ended.end(.success(())) }
      }
    }
    try await ended.value()
  }
}
