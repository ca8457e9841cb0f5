import CofferCallbacks
import CofferCore
import Dispatch
import Testing

@Suite(.timeLimit(.minutes(10))) struct CallbackOrderTests {
  // Requirement 3.10
  @Test func whatIsStartedForAKeyHappensInThatOrder() async {
    let probe = ProbeEngine()
    probe.beforeCommit { for _ in 0..<Int.random(in: 0...3) { await Task.yield() } }
    let storage = EngineKeyValueStorage(engine: probe)
    let finished = Locked<[Int]>([])
    for number in 0..<200 {
      storage.store(value: Bytes("\(number)".utf8), for: "a") { _ in finished.withLock { $0.append(number) } }
      if number == 100 { storage.remove(for: "a") { _ in finished.withLock { $0.append(-1) } } }
    }
    #expect(await storage.retrieved("a").value == Bytes("199".utf8))
    #expect(finished.withLock { $0 } == Array(0...100) + [-1] + Array(101..<200))
  }

  @Test func anotherKeyDoesNotWait() async {
    let probe = ProbeEngine()
    let gate = Gate()
    probe.beforeCommit { await gate.pass() }
    let storage = EngineKeyValueStorage(engine: probe)
    async let held = storage.stored([1], "held")
    #expect(await storage.missing("other"))
    gate.open()
    #expect(await held == nil)
    #expect(await storage.retrieved("held").value == [1])
  }

  // Requirement 3.8
  @Test func aThousandStoresEachCompleteOnce() async throws {
    let storage = EngineKeyValueStorage(engine: MemoryEngine())
    let calls = Locked(Array(repeating: 0, count: 1_000))
    let running = Locked(0)
    await withTaskGroup { group in
      for number in 0..<1_000 {
        group.addTask {
          await withCheckedContinuation { continuation in
            storage.store(value: [1], for: "key \(number % 50)") { error in
              #expect(error == nil)
              #expect(
                running.withLock {
                  $0 += 1
                  return $0
                } == 1)  // never two at the same time
              calls.withLock { $0[number] += 1 }
              running.withLock { $0 -= 1 }
              continuation.resume()
            }
          }
        }
      }
    }
    for key in 0..<50 { #expect(await storage.retrieved("key \(key)").value == [1]) }  // all completions have run
    #expect(calls.withLock { $0 } == Array(repeating: 1, count: 1_000))
  }

  /// On a serial queue nothing runs concurrently with this block, so a completion that sees `false` ran inside its
  /// call.
  // Requirements 3.8, 3.13, 3.18
  @Test(arguments: ["name", ""]) func noCompletionRunsInsideItsCall(key: String) async {
    let storage = EngineKeyValueStorage(engine: MemoryEngine())
    let starts: [@Sendable (@escaping @Sendable () -> Void) -> Void] = [
      { finished in storage.store(value: [1], for: key) { _ in finished() } },
      { finished in storage.retrieve(for: key) { _, _ in finished() } },
      { finished in storage.remove(for: key) { _ in finished() } },
    ]
    for start in starts {
      let hasReturned = Locked(false)
      let answer = await withCheckedContinuation { continuation in
        storage.queue.async {
          start { continuation.resume(returning: hasReturned.withLock { $0 }) }
          hasReturned.withLock { $0 = true }
        }
      }
      #expect(answer)
    }
  }

  // Requirements 3.8, 3.13, 3.18
  @Test(arguments: ["name", ""]) func completionsRunOnTheStatedQueue(key: String) async {
    let mark = DispatchSpecificKey<Int>()
    let own = DispatchQueue(label: "own", attributes: .concurrent)
    own.setSpecific(key: mark, value: 1)
    let storage = EngineKeyValueStorage(engine: MemoryEngine(), queue: own)
    #expect(storage.queue === own)
    let usual = EngineKeyValueStorage(engine: MemoryEngine())
    usual.queue.setSpecific(key: mark, value: 2)
    #expect(usual.queue !== EngineKeyValueStorage(engine: MemoryEngine()).queue)
    for (storage, value) in [(storage, 1), (usual, 2)] {
      let marks = await [
        answer { finished in storage.store(value: [1], for: key) { _ in finished(DispatchQueue.getSpecific(key: mark)) }
        },
        answer { finished in storage.retrieve(for: key) { _, _ in finished(DispatchQueue.getSpecific(key: mark)) } },
        answer { finished in storage.remove(for: key) { _ in finished(DispatchQueue.getSpecific(key: mark)) } },
      ]
      #expect(marks == [value, value, value])
    }
  }

  /// A closure that is formed on the main actor is isolated to it, but the compiler cannot check where it is called.
  @MainActor @Test func theMainActorsCompletionsRunOnItsQueue() async {
    final class Screen {
      var shown = 0
    }
    let screen = Screen()
    let storage = EngineKeyValueStorage(engine: MemoryEngine(), queue: .main)
    let shown = await withCheckedContinuation { continuation in
      storage.store(value: [1], for: "a") { _ in
        MainActor.preconditionIsolated()
        screen.shown += 1
        continuation.resume(returning: screen.shown)
      }
    }
    #expect(shown == 1)
  }

  @Test func aReleasedStorageStillAnswers() async {
    let probe = ProbeEngine()
    let gate = Gate()
    probe.beforeCommit { await gate.pass() }
    let error: (any Error)? = await answer { finished in
      let storage = EngineKeyValueStorage(engine: probe)
      storage.store(value: [1], for: "a") { _ in }
      storage.store(value: [2], for: "a", finished: finished)
      gate.open()
    }
    #expect(error == nil)
    #expect(await EngineKeyValueStorage(engine: probe).retrieved("a").value == [2])
  }
}
