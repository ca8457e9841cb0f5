import Coffer
import CofferCore
import CofferPreferences
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The same file, by Foundation's own `UserDefaults` in another process.
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

  @Test(arguments: [0.0, 0.123456]) func userDefaultsReadsEveryType(fraction: Double) async throws {
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    try await fill(adapter)
    let moment = second.addingTimeInterval(fraction)
    try await adapter.set(.date(moment), for: "date")
    let file = try Data(contentsOf: URL(fileURLWithPath: home.file))
    #expect(file.starts(with: Data((fraction == 0 ? "<?xml" : "bplist00").utf8)))
    let lines = try home.run("defaults-read").lines()
    #expect(
      lines == [
        "string dark", "yes true", "integer 42", "unsigned 18446744073709551615", "one 1.0", "tenth 0.1",
        "date \(moment.timeIntervalSinceReferenceDate)", "data AAH/", "array a,b", "dictionary x=1,y=2",
        "file /tmp/file", "web https://example.com/a?b=c", "decimal 0.10000000000000000000000000000000000001",
      ])
    #expect(try await adapter.value(for: "unsigned") == .unsigned(.max))
    #expect(try await adapter.value(for: "one") == .real(1))
    #expect(try await adapter.value(for: "date") == .date(moment))
    #expect(try await adapter.value(for: "web")?.url?.absoluteString == "https://example.com/a?b=c")
    #expect(try await adapter.value(for: "decimal")?.decimal?.description == "0.10000000000000000000000000000000000001")
    try await adapter.engine.close()
  }

  @Test func weReadWhatUserDefaultsHasWritten() async throws {
    let home = try ConfigHome()
    #expect(try home.run("defaults-fill").lines() == ["done"])
    let adapter = try await home.adapter()
    let expected: [(String, PreferenceValue)] = [
      ("string", "dark"), ("yes", true), ("integer", 42), ("tenth", 0.1), ("one", 1.0),
      ("date", .date(Date(timeIntervalSinceReferenceDate: 1_000))), ("data", .data(Data([0, 1, 255]))),
      ("array", ["a", "b"]), ("dictionary", ["x": 1, "y": 2]), ("file", "/tmp/file"),
    ]
    for (key, value) in expected { #expect(try await adapter.value(for: key) == value, "\(key)") }
    let store = TypedStore(engine: adapter.engine)
    #expect(try await store.load(String.self, for: "string") == "dark")
    #expect(try await store.load(Bool.self, for: "yes") == true)
    #expect(try await store.load(Int.self, for: "integer") == 42)
    #expect(try await store.load(Double.self, for: "tenth") == 0.1)
    #expect(try await store.load(Double.self, for: "one") == 1)
    #expect(try await store.load(Date.self, for: "date") == Date(timeIntervalSinceReferenceDate: 1_000))
    #expect(try await store.load([String].self, for: "array") == ["a", "b"])
    #expect(try await store.load([String: Int].self, for: "dictionary") == ["x": 1, "y": 2])
    // A tool that writes bytes over a value leaves its type.
    try await store.save("light", for: "string")
    try await store.save(43, for: "integer")
    try await store.save(["c"], for: "array")
    #expect(try await adapter.value(for: "string") == "light")
    #expect(try await adapter.value(for: "integer") == 43)
    #expect(try await adapter.value(for: "array") == ["c"])
    #expect(try home.propertyList()["string"] as? String == "light")
    try await adapter.engine.close()
  }

  /// Another program that synchronises after us keeps what we have written meanwhile, and we what it has.
  @Test func bothKeepEachOthersKeys() async throws {
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    try await adapter.set("dark", for: "string")
    let other = try home.run("defaults-hold", "theirs", "1")
    #expect(try other.line() == "read dark")
    try await adapter.set("ours", for: "late")
    other.tell("go")
    #expect(try other.lines() == ["done", "now ours"])
    #expect(try await adapter.value(for: "late") == "ours")
    #expect(try await adapter.value(for: "theirs") == "1")
    try await adapter.set("more", for: "more")
    #expect(Set(try home.propertyList().keys) == ["string", "late", "theirs", "more"])
    try await adapter.engine.close()
  }

  @Test func aCollectionThatCannotBeKeptIsRefused() async throws {
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    let refused: [PreferenceValue] = [
      [.date(second)], [.data(Data([1]))], ["x": .real(1)], .dictionary([.init("a", 1), .init("a", 2)]),
      .dictionary([.init("e\u{301}", 1), .init("\u{E9}", 2)]), .array([.real(.infinity)]),
    ]
    for value in refused {
      await #expect(throws: StorageError.self, "\(value)") { try await adapter.set(value, for: "k") }
    }
    #expect(try await adapter.value(for: "k") == nil)
    try await adapter.set(["x": [1, 0.5, true, "t", .unsigned(.max)]], for: "k")
    #expect(try await adapter.value(for: "k") == ["x": [1, 0.5, true, "t", .unsigned(.max)]])
    try await adapter.set([.dictionary([.init("b", 2), .init("a", 1)])], for: "k")
    #expect(try await adapter.value(for: "k") == [["a": 1, "b": 2]])
    try await adapter.engine.close()
  }

  @Test func clearingTouchesThisSuiteOnly() async throws {
    let home = try ConfigHome()
    #expect(
      try HelperProcess(["defaults-fill", "com.example.other"], environment: [("XDG_CONFIG_HOME", home.path)])
        .lines() == ["done"])
    let other = try Data(contentsOf: URL(fileURLWithPath: home.path + "/com.example.other.plist"))
    let engine = try await home.open()
    try await engine.commit(WriteBatch([.put(StoreKey("a"), Data("1".utf8))]), from: StoreOrigin())
    var batch = WriteBatch()
    batch.clear(prefix: nil)
    try await engine.commit(batch, from: StoreOrigin())
    #expect(try home.propertyList().isEmpty)
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.path + "/com.example.other.plist")) == other)
    try await engine.close()
  }
}
