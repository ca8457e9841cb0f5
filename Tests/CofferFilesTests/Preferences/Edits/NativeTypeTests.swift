import CofferCore
import CofferFiles
import CofferPersistence
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Swift values that `UserDefaults` reads with the method for their type, through every door.
@Suite(.blocking, .serialized) struct NativeTypeTests {
  enum Theme: String, Codable { case dark, light }
  enum Level: Int, Codable {
    case low = 1
    case high = 2
  }
  struct Size: Codable, Equatable {
    var width: Int
  }

  private let moment = Date(timeIntervalSinceReferenceDate: 700_000_000.25)

  /// Saves and loads a value, and compares its property list form.
  private func roundTrip<T: Codable & Sendable & Equatable>(
    _ value: T, _ expected: PreferenceValue, in adapter: UserDefaultsAdapter,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let store = TypedStore(engine: adapter.engine, cache: CachePolicy(maximumCount: 0))
    try await store.save(value, for: "value")
    #expect(try await adapter.get("value") == expected, sourceLocation: sourceLocation)
    #expect(try await store.load(T.self, for: "value") == value, sourceLocation: sourceLocation)
    try await store.delete("value")
  }

  @Test("Every type that a property list has is stored with it, exactly")
  func types() async throws {
    let fixture = try PreferenceFixture()
    defer { withExtendedLifetime(fixture) {} }
    let adapter = try await fixture.adapter()
    try await roundTrip("dark", "dark", in: adapter)
    try await roundTrip(#""quoted""#, .string(#""quoted""#), in: adapter)
    try await roundTrip("", "", in: adapter)
    try await roundTrip(true, true, in: adapter)
    try await roundTrip(Int64.min, .integer(.min), in: adapter)
    try await roundTrip(UInt64.max, .unsigned(.max), in: adapter)
    try await roundTrip(UInt8(7), 7, in: adapter)
    for number in [0.0, -0.0, 5, 0.1, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity] {
      try await roundTrip(number, .real(number), in: adapter)
    }
    try await roundTrip(Float(0.1), .real(Double(Float(0.1))), in: adapter)
    try await roundTrip(moment, .date(moment), in: adapter)
    try await roundTrip(Data([0, 255]), .data(Data([0, 255])), in: adapter)
    try await roundTrip(["a", "b"], ["a", "b"], in: adapter)
    try await roundTrip([1, 2], [1, 2], in: adapter)
    try await roundTrip([1.0, 2.5, .infinity], [1.0, 2.5, .real(.infinity)], in: adapter)
    try await roundTrip([moment], .array([.date(moment)]), in: adapter)
    try await roundTrip(["x": [Data([1])]], ["x": .array([.data(Data([1]))])], in: adapter)
    try await roundTrip(["x": 1, "y": 2], ["x": 1, "y": 2], in: adapter)
    try await roundTrip([String](), .array([]), in: adapter)
    try await roundTrip(Theme.dark, "dark", in: adapter)
    try await roundTrip([Theme.light], ["light"], in: adapter)
    try await roundTrip(Level.high, 2, in: adapter)
    try await roundTrip(String?.some("x"), "x", in: adapter)
    try await roundTrip(String?.none, .data(Data("null".utf8)), in: adapter)
    try await roundTrip([1, nil], .data(Data("[1,null]".utf8)), in: adapter)
    try await roundTrip(URL(fileURLWithPath: "/tmp/a b"), "/tmp/a b", in: adapter)
    try await roundTrip(Size(width: 3), .data(Data(#"{"width":3}"#.utf8)), in: adapter)
    let store = TypedStore(engine: adapter.engine, cache: CachePolicy(maximumCount: 0))
    try await store.save(Double.nan, for: "nan")
    #expect(try await store.load(Double.self, for: "nan")?.isNaN == true)
    // The bytes of an absent optional value are not the text that was there before.
    try await store.save("before", for: "optional")
    try await store.save(String?.none, for: "optional")
    #expect(try await store.load(String?.self, for: "optional") == .some(nil))
    try await adapter.engine.close()
  }

  // Requirement 1.15
  @Test("UserDefaults reads what each door writes")
  func doors() async throws {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    let persistence = AdapterBasedPersistence(adapter: adapter)
    let store = TypedStore(engine: adapter.engine)
    try await store.save("dark", for: "string")
    try await persistence.save(true, for: "yes")
    try await store.saveAll([("integer", 42)])
    try await persistence.saveBatch([("unsigned", UInt64.max)])
    try await store.batch { try $0.save(1.0, for: "one") }
    try await store.transaction { try $0.save(0.1, for: "tenth") }
    try await store.update("date", default: moment) { $0.addTimeInterval(1) }
    try await store.saveIfUnchanged(Data([0, 1, 255]), for: "data", since: nil)
    try await store.save(["a", "b"], for: "array")
    try await store.save(["x": 1, "y": 2], for: "dictionary")
    try await store.save(URL(fileURLWithPath: "/tmp/file"), for: "file")
    let web = try #require(URL(string: "https://example.com/a?b=c"))
    try await store.save(web, for: "web")
    try await store.save("0.5", for: "decimal")
    #expect(
      try fixture.run("defaults-read").lines() == [
        "string dark", "yes true", "integer 42", "unsigned 18446744073709551615", "one 1.0", "tenth 0.1",
        "date 700000001.25", "data AAH/", "array a,b", "dictionary x=1,y=2", "file /tmp/file",
        "web https://example.com/a?b=c", "decimal 0.5",
      ])
    #expect(try await persistence.load(UInt64.self, for: "unsigned") == .max)
    #expect(try await persistence.loadBatch(Double.self, keys: ["one", "tenth"]) == [1, 0.1])
    #expect(try await store.loadVersioned(Date.self, for: "date").value == moment.addingTimeInterval(1))
    #expect(try await store.load(URL.self, for: "web") == web)
    try await adapter.engine.close()
  }

  @Test("A read accepts what UserDefaults accepts without a loss, and earlier JSON; anything else is an error")
  func liberal() async throws {
    let fixture = try PreferenceFixture()
    defer { withExtendedLifetime(fixture) {} }
    let adapter = try await fixture.adapter()
    let store = TypedStore(engine: adapter.engine, cache: CachePolicy(maximumCount: 0))
    try await adapter.set(1, for: "one")
    #expect(try await store.load(Bool.self, for: "one") == true)
    #expect(try await store.load(Double.self, for: "one") == 1)
    #expect(try await store.load(String.self, for: "one") == "1")
    try await adapter.set(2, for: "two")
    await expectStorageError(.decodingFailed) { _ = try await store.load(Bool.self, for: "two") }
    await expectStorageError(.decodingFailed) { _ = try await store.load(Theme.self, for: "two") }
    await expectStorageError(.decodingFailed) { _ = try await store.load(Bool?.self, for: "two") }
    try await adapter.set(300, for: "large")
    await expectStorageError(.decodingFailed) { _ = try await store.load(UInt8.self, for: "large") }
    try await adapter.set(.data(Data(#""dark""#.utf8)), for: "json")
    #expect(try await store.load(Theme.self, for: "json") == .dark)
    try await adapter.set(.data(Data("[1,2]".utf8)), for: "json")
    #expect(try await store.load([Int].self, for: "json") == [1, 2])
    try await adapter.engine.close()
  }

  // Requirement 4.13
  @Test("A declared key is the property list type, and reads what other programs and earlier versions have written")
  func declaredKeys() async throws {
    let fixture = try PreferenceFixture()
    try await fixture.use {
      let router = StorageRouter()
      let domain = StorageDomain.userDefaults(suite: fixture.suite)
      let name = TypedKey<String>("name", in: domain, owner: "Tests", about: "A text.")
      let theme = TypedKey<Theme>("theme", in: domain, owner: "Tests", about: "A raw value.")
      let date = TypedKey<Date>("date", in: domain, owner: "Tests", about: "A date.")
      let codec = Serializer<Bool>.codec(JSONCodec(), name: "own")
      let own = TypedKey<Bool>("own", in: domain, owner: "Tests", about: "A serializer of its own.", as: codec)
      try await router.set("dark", for: name)
      try await router.batch { $0.set(.light, for: theme) }
      try await router.set(moment, for: date)
      try await router.update(date) { $0.addTimeInterval(1) }
      try await router.set(true, for: own)
      let list = try fixture.propertyList()
      #expect(list["name"] as? String == "dark" && list["theme"] as? String == "light")
      #expect(list["date"] as? Date == moment.addingTimeInterval(1))
      #expect(list["own"] as? Data == Data("true".utf8))

      let helper = UserDefaultsHelper()
      #expect(try await helper.get(forKey: "name", suite: fixture.suite) == "dark")
      try await helper.set(#""quoted""#, forKey: "name", suite: fixture.suite)
      #expect(try await router.get(name) == #""quoted""#)
      try await helper.set(.data(Data(#""earlier""#.utf8)), forKey: "name", suite: fixture.suite)
      #expect(try await router.get(name) == "earlier")
      try await helper.set("unknown", forKey: "theme", suite: fixture.suite)
      await expectStorageError(.decodingFailed) { _ = try await router.get(theme) }
      #expect(try await router.state(of: [date]).get(date) == moment.addingTimeInterval(1))
      try await router.close()
    }
  }
}
