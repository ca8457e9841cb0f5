import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// The delivery of changes by other programs and of own commits.
@Suite(.blocking, .serialized) struct PreferenceChangeTests {
  // Requirement 0.25
  @Test func aForeignWriteIsHeardOnceWithItsKey() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    try await engine.put("own", "1")
    let (heard, second) = (Heard(engine), try await fixture.open())
    let other = Heard(second)
    #expect(try fixture.run("defaults-set", "theirs", "x").lines() == ["done"])
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
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let second = try await fixture.open()
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

  /// What the store itself has written is no reason to look at all values, and an edit just before it is one.
  @Test func savesAreNoEdits() async throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: directory.path("control"), withIntermediateDirectories: false)
    let slots = try DocumentSlots(
      PropertyListFormat(), at: directory.path("suite.plist"), control: directory.path("control"), name: "suite",
      maximumValueSize: 1 << 20, onDamage: nil)
    let edits = Locked(0)
    let end = try slots.watch { event in
      if case .anything = event { edits.withLock { $0 += 1 } }
    }
    for number in 0..<40 { try slots.change { $0.values["k"] = .integer(Int64(number)) } }
    // The watcher may be late and find a save that is under way, but not always.
    let before = edits.withLock { $0 }
    #expect(before < 20)
    let text = try String(contentsOfFile: directory.path("suite.plist"), encoding: .utf8).replacing("39", with: "38")
    let file = open(directory.path("suite.plist"), O_WRONLY)
    #expect(text.utf8.count == pwrite(file, text, text.utf8.count, 0))
    close(file)
    try slots.change { $0.values["other"] = 1 }
    try await eventually("the edit is noticed") { edits.withLock { $0 } > before }
    #expect(try slots.document().values == ["k": 38, "other": 1])
    end?()
  }

  /// Edits in place, of the same size and within one tick of the file system's clock, differ only in their bytes.
  @Test func quickEditsOfOneSizeAreAllFound() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    try await engine.put("k", "000")
    let whole = try String(contentsOfFile: fixture.file, encoding: .utf8)
    let data = Data("000".utf8).base64EncodedString()
    #expect(whole.contains(data))
    for number in 100..<160 {
      let text = whole.replacing(data, with: Data("\(number)".utf8).base64EncodedString())
      let file = open(fixture.file, O_WRONLY)
      #expect(text.utf8.count == pwrite(file, text, text.utf8.count, 0))
      close(file)
      #expect(try await engine.text("k") == "\(number)")
    }
    try await engine.close()
  }

  @Test func aRemovedFileIsHeardAsDeletions() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    try await engine.put("a", "1")
    try await engine.put("b", "2")
    let heard = Heard(engine)
    #expect(unlink(fixture.file) == 0)
    try await heard.wait(for: "a")
    try await heard.wait(for: "b")
    // In one commit, or in two if the engine was still handling the event of its own last write.
    #expect(heard.foreign.joined().sorted() == ["a", "b"])
    #expect(try await engine.text("a") == nil)
    try await engine.put("c", "3")
    #expect(try fixture.propertyList().keys.sorted() == ["c"])
    try await engine.close()
  }

  @Test func eightTasksOnOneAdapter() async throws {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<20 {
            let key = "k\((task + number) % 5)"
            try await adapter.set(.integer(Int64(number)), for: key)
            #expect(try await adapter.get(key)?.integer != nil)
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

  /// The time of a commit is linear in the number of keys: ten times as long for 5,000 keys as for 500. A quadratic one
  /// would take a hundred times as long.
  @Test func aLargeSuiteIsUsable() async throws {
    let (small, large) = (try await timeOfPut(keys: 500), try await timeOfPut(keys: 5_000))
    #expect(large < small * 60, "\(small) with 500 keys, \(large) with 5,000")
  }

  private func timeOfPut(keys: Int) async throws -> Duration {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let batch = WriteBatch(try (0..<keys).map { .put(try KeyName("key/\($0)"), Data("value \($0)".utf8)) })
    try await engine.commit(batch, from: StoreOrigin())
    let second = try await fixture.open()
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
