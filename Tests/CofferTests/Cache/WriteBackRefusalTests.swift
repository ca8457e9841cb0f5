import Coffer
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Pending writes of which a store of files refuses one, whose file name is that of a directory.
@Suite(.blocking, .timeLimit(.minutes(5))) struct WriteBackRefusalTests {
  private let directory: TemporaryDirectory
  private let clock = ManualClock()
  private var obstacle: String { directory.path("files/folder") }

  init() throws { directory = try TemporaryDirectory() }

  private func open(limit: Int = 8 << 20) async throws -> (TypedStore, SlotEngine) {
    let engine = try await SlotEngine.files(in: directory.path("files"))
    try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
    let policy = WritePolicy.back(maximumPendingBytes: limit, clock: clock)
    return (TypedStore(engine: engine, writePolicy: policy), engine)
  }

  @Test func aRefusalNamesItsKeysWhichStayPending() async throws {
    let (store, engine) = try await open()
    let other = TypedStore(engine: engine)
    for key in ["a", "folder"] as [KeyName] { try await store.save(1, for: key) }
    let error = await #expect(throws: StorageError.self) { try await store.flush() }
    #expect(error?.code == .notAStore && error?.key == "folder")
    #expect(error?.message.hasSuffix("These writes stay pending: 'a', 'folder'.") == true, "\(error?.message ?? "")")
    #expect(store.pendingWrites.count == 2 && store.pendingWrites.failure?.key == "folder")
    #expect(try await store.load(Int.self, for: "folder") == 1)
    #expect(try await !other.exists("a"))
    // Only calls that depend on one of the keys fail, or on all.
    #expect(try await store.update(Int.self, for: "b") { ($0 ?? 0) + 1 } == 1)
    #expect(await codeThrown { _ = try await store.update(Int.self, for: "a") { $0 } } == .notAStore)
    #expect(
      await codeThrown { _ = try await store.transaction { try await $0.load(Int.self, for: "b") } } == .notAStore)
    #expect(await codeThrown { try await store.close() } == .notAStore)
    for number in 0..<9 { try await store.save(1, for: KeyName("k\(number)")) }
    #expect(await codeThrown { try await store.flush() } == .notAStore)
    #expect(store.pendingWrites.failure?.message.hasSuffix("'k4', 'k5' and 3 more.") == true)
    try FileManager.default.removeItem(atPath: obstacle)
    try await store.flush()
    #expect(try await other.load(Int.self, for: "a") == 1 && store.pendingWrites.failure == nil)
    try await store.close()
  }

  @Test func theNextWindowTriesARefusedCommitAgain() async throws {
    let (store, engine) = try await open()
    try await store.save(1, for: "folder")
    for _ in 0..<3 {
      await clock.waitForSleepers()
      clock.advance(by: .seconds(1))
      await clock.waitForSleepers()
      #expect(store.pendingWrites.failure?.code == .notAStore)
    }
    try FileManager.default.removeItem(atPath: obstacle)
    clock.advance(by: .seconds(1))
    try await eventually("the value is committed") { store.pendingWrites.count == 0 }
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "folder") == 1)
    try await store.close()
  }

  @Test func refusedWritesThatTakeAllRoomCanBeReplacedOrDiscarded() async throws {
    let (store, _) = try await open(limit: 100)
    let value = String(repeating: "x", count: 80)
    try await store.save(value, for: "folder")
    #expect(await codeThrown { try await store.save(value, for: "a") } == .notAStore)
    #expect(await codeThrown { try await store.save(value + value, for: "folder") } == .notAStore)
    #expect(try await store.load(String.self, for: "folder") == value && store.pendingWrites.bytes == 86)
    try await store.save(value + "y", for: "folder")
    try await store.save(String(repeating: "x", count: 500), for: "large")
    #expect(try await store.load(String.self, for: "folder") == value + "y" && store.pendingWrites.count == 1)
    #expect(await store.discardPendingWrites() == ["folder"])
    try await store.save(value, for: "a")
    try await store.close()
  }
}
