import Coffer
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Write-back under load, against a model, on a full disk and with processes that are killed.
@Suite(.blocking, .serialized, .timeLimit(.minutes(10))) struct WriteBackProcessTests {
  /// The window of the helper is 5 ms, so that it is killed in and between commits.
  // Requirement 1.33
  @Test func aKillLosesNoSave() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    var random = SeededGenerator(seed: 37)
    var (last, replays) = (0, 0)
    for round in 0..<(isProving ? 5_000 : 40) {
      let helper = try HelperProcess(["write-back", path, round % 2 == 0 ? "5" : "3600000", "\(last)"])
      #expect(try helper.line() == "ready")
      var saved = last
      for _ in 0..<Int.random(in: 0...(round % 5 == 0 ? 2_000 : 20), using: &random) {
        saved = try helper.line().flatMap { Int($0) } ?? saved
      }
      helper.kill()
      helper.wait()
      for line in try helper.lines() { saved = Int(line) ?? saved }
      if FileManager.default.fileExists(atPath: path + "-pending") { replays += 1 }
      let engine = try await SQLiteEngine.open(at: path)
      #expect(!FileManager.default.fileExists(atPath: path + "-pending"))
      let store = TypedStore(engine: engine)
      let present = try await store.load(Int.self, for: "last") ?? 0
      try #require(present == saved || present == saved + 1, "round \(round)")
      #expect(try await store.load(Int.self, for: "copy") ?? 0 == present, "a batch was torn in round \(round)")
      let keys = try (last..<(present + 3)).map { try KeyName("n/\($0 + 1)") }
      for (key, entry) in zip(keys, try await engine.entries(keys)).prefix(present - last) {
        #expect(entry?.value == Data(key.string.dropFirst(2).utf8), "\(key) in round \(round)")
      }
      #expect(try await engine.entry(KeyName("n/\(present + 2)")) == nil)
      try await store.close()
      last = present
    }
    #expect(replays > 0)
  }

  @Test func aHundredWritersAndFlushersLoseNothing() async throws {
    let memory = MemoryEngine()
    let policy = WritePolicy.back(window: .milliseconds(1), maximumPendingBytes: 2_000)
    let store = TypedStore(engine: memory, writePolicy: policy)
    try await withThrowingTaskGroup { group in
      for writer in 0..<100 {
        group.addTask {
          let key = try KeyName("k\(writer)")
          let outside = TypedStore(engine: memory)
          for number in 1...60 {
            try await store.save(number, for: key)
            #expect(try await store.load(Int.self, for: key) == number)
            if (number + writer) % 13 == 0 {
              try await store.flush()
              #expect(try await outside.load(Int.self, for: key) == number, "the flush has lied")
            }
            if number % 20 == 0 { _ = try await store.update(Int.self, for: key) { $0 } }
          }
        }
      }
      try await group.waitForAll()
    }
    try await store.flush()
    let outside = TypedStore(engine: memory)
    for writer in 0..<100 { #expect(try await outside.load(Int.self, for: "k\(writer)") == 60) }
    #expect(store.pendingWrites.bytes == 0)
  }

  /// Random operations with a fixed seed on a store whose commits fail at times.
  // Requirement 1.33
  @Test(arguments: isProving ? Array(0..<50) : [1, 2, 3])
  func randomOperationsAgreeWithAModel(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let memory = MemoryEngine()
    let engine = FaultInjectingEngine(memory)
    let policy = WritePolicy.back(maximumPendingBytes: 400, clock: ManualClock())
    let cache = CachePolicy(maximumCount: 6, maximumBytes: 200)
    let store = TypedStore(engine: engine, cache: cache, writePolicy: policy)
    let keys = try (0..<8).map { try KeyName("k\($0)") }
    var model: [KeyName: String] = [:]
    for step in 0..<1_500 {
      let key = keys.randomElement(using: &random) ?? "k"
      let value = "\(step)" + String(repeating: "x", count: Int.random(in: 0..<60, using: &random))
      if Int.random(in: 0..<20, using: &random) == 0 {
        let code: StorageError.Code = Bool.random(using: &random) ? .diskFull : .unsupported
        engine.inject(.fail(StorageError(code, "Not now.")), into: .commit)
      }
      do {
        switch Int.random(in: 0..<7, using: &random) {
        case 0...2:
          try await store.save(value, for: key)
          model[key] = value
        case 3:
          try await store.delete(key)
          model[key] = nil
        case 4:
          try await store.saveAll([(keys[0], value), (keys[1], value)])
          (model[keys[0]], model[keys[1]]) = (value, value)
        case 5:
          try await store.update(String.self, for: key) { ($0 ?? "").suffix(5) + "u" }
          model[key] = (model[key] ?? "").suffix(5) + "u"
        default:
          try await store.flush()
          for key in keys { #expect(try await TypedStore(engine: memory).load(String.self, for: key) == model[key]) }
        }
      } catch let error as StorageError {
        #expect([.diskFull, .unsupported].contains(error.code))
      }
      #expect(try await store.load(String.self, for: key) == model[key])
      #expect(store.pendingWrites.bytes <= 400)
    }
  }

  // Requirement 1.33
  @Test func aFullDiskKeepsWhatIsPendingUntilThereIsSpace() async throws {
    let directory = try TemporaryDirectory()
    guard getuid() == 0, let disk = try SmallDisk(at: directory.path("disk"), size: "4m") else {
      try Test.cancel("mounting a small file system needs root")
    }
    let engine = try await SQLiteEngine.open(at: disk.path + "/store.db")
    let policy = WritePolicy.back(clock: ManualClock())
    let store = TypedStore(engine: engine, writePolicy: policy)
    for number in 0..<8 { try await store.save(Data(repeating: UInt8(number), count: 100_000), for: "v\(number)") }
    try disk.fill()
    #expect(await codeThrown { try await store.flush() } == .diskFull)
    #expect(store.pendingWrites.count == 8)
    #expect(try await store.load(Data.self, for: "v7")?.count == 100_000)
    try disk.resize(to: "60m")
    try await store.flush()
    for number in 0..<8 {
      #expect(try await engine.entry(KeyName("v\(number)"))?.value == Data(repeating: UInt8(number), count: 100_000))
    }
    try await store.close()
  }
}
