import CofferCore
import CofferTesting
import Foundation
import Testing

@Suite("Faults affect exactly the selected calls")
struct FaultInjectingEngineTests {
  private let engine = FaultInjectingEngine(MemoryEngine())
  private let full = StorageError(.diskFull, "No space is left.")

  private func put(_ name: String, through engine: FaultInjectingEngine? = nil) async throws {
    try await (engine ?? self.engine).commit(WriteBatch([.put(KeyName(name), Data())]), from: StoreOrigin())
  }

  private func code(_ body: () async throws -> Void) async -> StorageError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? StorageError)?.code }
  }

  @Test("the n-th commit fails and writes nothing")
  func nthCommit() async throws {
    try await put("before")
    engine.inject(.fail(full), into: .commit, at: 2, times: 2)
    var codes: [StorageError.Code?] = []
    for name in ["1", "2", "3", "4"] { codes.append(await code { try await put(name) }) }
    #expect(codes == [nil, .diskFull, .diskFull, nil])
    #expect(try await engine.entry(KeyName("2")) == nil)
    #expect(try await engine.entry(KeyName("4")) != nil)
    #expect(engine.count(of: .commit) == 5)
  }

  @Test("a commit that fails afterwards has been applied")
  func failAfter() async throws {
    engine.inject(.failAfter(StorageError(.outcomeUnknown, "The device failed.")), into: .commit)
    #expect(await code { try await put("k") } == .outcomeUnknown)
    #expect(try await engine.entry(KeyName("k")) != nil)
  }

  @Test("reads fail, in snapshots too, until the faults are removed")
  func reads() async throws {
    engine.inject(.fail(StorageError(.unavailable, "Locked.")), into: .read, times: .max)
    let key = KeyName("k")
    #expect(await code { _ = try await engine.entry(key) } == .unavailable)
    #expect(await code { _ = try await engine.entries([key]) } == .unavailable)
    #expect(await code { _ = try await engine.withSnapshot { try await $0.entries([key]) } } == .unavailable)
    #expect(
      await code { _ = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1) } }
        == .unavailable)
    engine.removeFaults()
    #expect(try await engine.entry(key) == nil)
    #expect(engine.count(of: .read) == 5)
  }

  @Test("snapshots and flushes fail independently")
  func others() async throws {
    engine.inject(.fail(full), into: .snapshot)
    engine.inject(.fail(full), into: .flush)
    #expect(await code { try await engine.withSnapshot { _ in } } == .diskFull)
    #expect(await code { try await engine.flush() } == .diskFull)
    #expect(await code { try await engine.flush() } == nil)
  }

  @Test("a delay ends when its clock reaches the deadline")
  func delay() async throws {
    let clock = ManualClock()
    let engine = FaultInjectingEngine(MemoryEngine(), clock: clock)
    engine.inject(.delay(.seconds(5)), into: .commit)
    let task = Task { try await put("k", through: engine) }
    await clock.waitForSleepers()
    clock.advance(by: .seconds(4))
    #expect(clock.sleeperCount == 1)
    #expect(try await engine.entry(KeyName("k")) == nil)
    clock.advance(by: .seconds(1))
    try await task.value
    #expect(try await engine.entry(KeyName("k")) != nil)
  }
}
