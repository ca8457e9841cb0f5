import Coffer
import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The same file used by Foundation's `UserDefaults` in another process.
@Suite(.blocking, .serialized) struct InteropTests {
  private let second = Date(timeIntervalSinceReferenceDate: 700_000_000)

  private func fill(_ adapter: UserDefaultsAdapter) async throws {
    try await adapter.set("dark", for: "string")
    try await adapter.set(true, for: "yes")
    try await adapter.set(42, for: "integer")
    try await adapter.set(.unsigned(.max), for: "unsigned")
    try await adapter.set(1.0, for: "one")
    try await adapter.set(0.1, for: "tenth")
    try await adapter.set(.date(second), for: "date")
    try await adapter.set(.data(Data([0, 1, 255])), for: "data")
    try await adapter.set(["a", "b"], for: "array")
    try await adapter.set(["x": 1, "y": 2], for: "dictionary")
    try await adapter.set(PreferenceValue(URL(fileURLWithPath: "/tmp/file")), for: "file")
    let web = try #require(URL(string: "https://example.com/a?b=c"))
    try await adapter.set(PreferenceValue(web), for: "web")
    try await adapter.set(
      PreferenceValue(#require(Decimal(string: "0.10000000000000000000000000000000000001"))), for: "decimal")
  }

  // Requirement 1.15
  @Test(arguments: [0.0, 0.123456]) func userDefaultsReadsEveryType(fraction: Double) async throws {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await fill(adapter)
    let moment = second.addingTimeInterval(fraction)
    try await adapter.set(.date(moment), for: "date")
    let file = try Data(contentsOf: URL(fileURLWithPath: fixture.file))
    #expect(file.starts(with: Data((fraction == 0 ? "<?xml" : "bplist00").utf8)))
    let lines = try fixture.run("defaults-read").lines()
    #expect(
      lines == [
        "string dark", "yes true", "integer 42", "unsigned 18446744073709551615", "one 1.0", "tenth 0.1",
        "date \(moment.timeIntervalSinceReferenceDate)", "data AAH/", "array a,b", "dictionary x=1,y=2",
        "file /tmp/file", "web https://example.com/a?b=c", "decimal 0.10000000000000000000000000000000000001",
      ])
    #expect(try await adapter.get("unsigned") == .unsigned(.max))
    #expect(try await adapter.get("one") == .real(1))
    #expect(try await adapter.get("date") == .date(moment))
    #expect(try await adapter.get("web")?.url?.absoluteString == "https://example.com/a?b=c")
    #expect(try await adapter.get("decimal")?.decimal?.description == "0.10000000000000000000000000000000000001")
    try await adapter.engine.close()
  }

  @Test func weReadWhatUserDefaultsHasWritten() async throws {
    let fixture = try PreferenceFixture()
    #expect(try fixture.run("defaults-fill").lines() == ["done"])
    let adapter = try await fixture.adapter()
    let expected: [(String, PreferenceValue)] = [
      ("string", "dark"), ("yes", true), ("integer", 42), ("tenth", 0.1), ("one", 1.0),
      ("date", .date(Date(timeIntervalSinceReferenceDate: 1_000))), ("data", .data(Data([0, 1, 255]))),
      ("array", ["a", "b"]), ("dictionary", ["x": 1, "y": 2]), ("file", "/tmp/file"),
    ]
    for (key, value) in expected { #expect(try await adapter.get(key) == value, "\(key)") }
    let store = TypedStore(engine: adapter.engine)
    #expect(try await store.load(String.self, for: "string") == "dark")
    #expect(try await store.load(Bool.self, for: "yes") == true)
    #expect(try await store.load(Int.self, for: "integer") == 42)
    #expect(try await store.load(Double.self, for: "tenth") == 0.1)
    #expect(try await store.load(Double.self, for: "one") == 1)
    #expect(try await store.load(Date.self, for: "date") == Date(timeIntervalSinceReferenceDate: 1_000))
    #expect(try await store.load([String].self, for: "array") == ["a", "b"])
    #expect(try await store.load([String: Int].self, for: "dictionary") == ["x": 1, "y": 2])
    // Overwriting a value with bytes keeps its type.
    try await store.save("light", for: "string")
    try await store.save(43, for: "integer")
    try await store.save(["c"], for: "array")
    #expect(try await adapter.get("string") == "light")
    #expect(try await adapter.get("integer") == 43)
    #expect(try await adapter.get("array") == ["c"])
    #expect(try fixture.propertyList()["string"] as? String == "light")
    try await adapter.engine.close()
  }

  /// Another program that synchronizes after a commit preserves its keys, and the next commit preserves those of the
  /// other program.
  @Test func bothKeepEachOthersKeys() async throws {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await adapter.set("dark", for: "string")
    let other = try fixture.run("defaults-hold", "theirs", "1")
    #expect(try other.line() == "read dark")
    try await adapter.set("ours", for: "late")
    other.tell("go")
    #expect(try other.lines() == ["done", "now ours"])
    #expect(try await adapter.get("late") == "ours")
    #expect(try await adapter.get("theirs") == "1")
    try await adapter.set("more", for: "more")
    #expect(Set(try fixture.propertyList().keys) == ["string", "late", "theirs", "more"])
    try await adapter.engine.close()
  }

  @Test func aCollectionThatCannotBeKeptIsRefused() async throws {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    let refused: [PreferenceValue] = [
      [.date(second), "t"], [.data(Data([1])), 1], ["x": .real(1), "y": 2],
      .dictionary([.init("a", 1), .init("a", 2)]), .dictionary([.init("e\u{301}", 1), .init("\u{E9}", 2)]),
      .array([.real(.infinity), true]),
    ]
    for value in refused {
      await #expect(throws: StorageError.self, "\(value)") { try await adapter.set(value, for: "k") }
    }
    #expect(try await adapter.get("k") == nil)
    for value: PreferenceValue in [[.date(second)], [["x": .data(Data([1]))]], ["x": .real(1)], [.real(.infinity)]] {
      try await adapter.set(value, for: "k")
      #expect(try await adapter.get("k") == value)
    }
    try await adapter.set(["x": [1, 0.5, true, "t", .unsigned(.max)]], for: "k")
    #expect(try await adapter.get("k") == ["x": [1, 0.5, true, "t", .unsigned(.max)]])
    try await adapter.set([.dictionary([.init("b", 2), .init("a", 1)])], for: "k")
    #expect(try await adapter.get("k") == [["a": 1, "b": 2]])
    try await adapter.engine.close()
  }

  // Requirement 0.18
  @Test func clearingTouchesThisSuiteOnly() async throws {
    let fixture = try PreferenceFixture()
    #expect(
      try HelperProcess(["defaults-fill", "com.example.other"], environment: [("XDG_CONFIG_HOME", fixture.path)])
        .lines() == ["done"])
    let other = try Data(contentsOf: URL(fileURLWithPath: fixture.path + "/com.example.other.plist"))
    let engine = try await fixture.open()
    try await engine.commit(WriteBatch([.put(KeyName("a"), Data("1".utf8))]), from: StoreOrigin())
    var batch = WriteBatch()
    batch.clear(prefix: nil)
    try await engine.commit(batch, from: StoreOrigin())
    #expect(try fixture.propertyList().isEmpty)
    #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path + "/com.example.other.plist")) == other)
    try await engine.close()
  }
}
