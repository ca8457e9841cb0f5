import CofferCore
import CofferPreferences
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// What is heard of the changes of others, and of one's own.
@Suite(.blocking, .serialized) struct PreferenceChangeTests {
  @Test func aForeignWriteIsHeardOnceWithItsKey() async throws {
    let home = try ConfigHome()
    let engine = try await home.open()
    try await engine.put("own", "1")
    let (heard, second) = (Heard(engine), try await home.open())
    let other = Heard(second)
    #expect(try home.run("defaults-set", "theirs", "x").lines() == ["done"])
    for log in [heard, other] { try await log.wait(for: "theirs") }
    try await engine.put("end", "1")
    for log in [heard, other] {
      try await log.wait(for: "end")
      #expect(log.foreign == [["theirs"]])
      #expect(log.changes.count == 2, "\(log.changes)")
      #expect(log.changes.last?.transaction != nil)
    }
    try await second.close()
    try await engine.close()
  }

  @Test func ownWritesAreNotEchoed() async throws {
    let home = try ConfigHome()
    let engine = try await home.open()
    let second = try await home.open()
    let (heard, other) = (Heard(engine), Heard(second))
    for number in 0..<100 {
      try await (number % 2 == 0 ? engine : second).put("k\(number % 10)", "\(number)")
      #expect(try await second.text("k\(number % 10)") == "\(number)")
    }
    try await engine.put("end", "")
    for log in [heard, other] {
      try await log.wait(for: "end")
      #expect(log.foreign == [])
      #expect(log.changes.count == 101)
    }
    try await second.close()
    try await engine.close()
  }

  /// Within one tick of the file system's clock, in place and of the same size: only the bytes tell.
  @Test func quickEditsOfOneSizeAreAllFound() async throws {
    let home = try ConfigHome()
    let engine = try await home.open()
    try await engine.put("k", "000")
    let whole = try String(contentsOfFile: home.file, encoding: .utf8)
    let data = Data("000".utf8).base64EncodedString()
    #expect(whole.contains(data))
    for number in 100..<160 {
      let text = whole.replacing(data, with: Data("\(number)".utf8).base64EncodedString())
      let file = open(home.file, O_WRONLY)
      #expect(text.utf8.count == pwrite(file, text, text.utf8.count, 0))
      close(file)
      #expect(try await engine.text("k") == "\(number)")
    }
    try await engine.close()
  }

  @Test func aRemovedFileIsHeardAsDeletions() async throws {
    let home = try ConfigHome()
    let engine = try await home.open()
    try await engine.put("a", "1")
    try await engine.put("b", "2")
    let heard = Heard(engine)
    #expect(unlink(home.file) == 0)
    try await heard.wait(for: "a")
    try await heard.wait(for: "b")
    // In one commit, or in two where the engine was still looking at its own last write.
    #expect(heard.foreign.joined().sorted() == ["a", "b"])
    #expect(try await engine.text("a") == nil)
    try await engine.put("c", "3")
    #expect(try home.propertyList().keys.sorted() == ["c"])
    try await engine.close()
  }

  @Test func eightTasksOnOneAdapter() async throws {
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<20 {
            let key = "k\((task + number) % 5)"
            try await adapter.set(.integer(Int64(number)), for: key)
            #expect(try await adapter.value(for: key)?.integer != nil)
            try await adapter.set("mine", for: "task\(task)/\(number)")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await adapter.keys(prefix: "task").count == 160)
    #expect(try await adapter.keys().count == 165)
    try await adapter.engine.close()
  }

  /// One commit to a suite of 5,000 keys takes ten times as long as to one of 500, and not a hundred times, as it would
  /// if each key were looked for among all others.
  @Test func aLargeSuiteIsUsable() async throws {
    let (small, large) = (try await timeOfPut(keys: 500), try await timeOfPut(keys: 5_000))
    #expect(large < small * 60, "\(small) with 500 keys, \(large) with 5,000")
  }

  private func timeOfPut(keys: Int) async throws -> Duration {
    let home = try ConfigHome()
    let engine = try await home.open()
    let batch = WriteBatch(try (0..<keys).map { .put(try StoreKey("key/\($0)"), Data("value \($0)".utf8)) })
    try await engine.commit(batch, from: StoreOrigin())
    let second = try await home.open()
    let time = try await ContinuousClock().measure {
      for number in 0..<20 { try await engine.put("key/\(number)", "x\(number)") }
    }
    for number in 0..<100 { #expect(try await engine.text("key/\(number)") != nil) }
    #expect(try await second.text("key/19") == "x19")
    try await second.close()
    try await engine.close()
    return time
  }
}
