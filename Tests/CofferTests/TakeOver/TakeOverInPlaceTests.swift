import Coffer
import CofferProcessTesting
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A directory that another program has filled becomes a store where it is.
@Suite("Taking over in place", .blocking, .serialized)
struct TakeOverInPlaceTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.path("old") }
  private var location: String { "file:\(path)" }

  init() throws { directory = try TemporaryDirectory() }

  private func legacy(_ form: String, _ count: Int = 0) throws {
    let program = try HelperProcess([form, path, "\(count)"], executable: "LegacyProgram")
    try #require(program.wait() == 0)
  }

  private func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
  }

  private func open(_ policy: ForeignDataPolicy = .refuse) async throws -> TypedStore {
    var options = StoreOptions()
    options.foreignData = policy
    return TypedStore(engine: try await StoreLocation(location).open(options))
  }

  private func takeOver(
    _ store: TypedStore, _ encoding: LegacyEncoding, _ configure: (inout TakeOverOptions) throws -> Void = { _ in }
  ) async throws -> TakeOverReport {
    var options = TakeOverOptions()
    try configure(&options)
    return try await store.engine.takeOver(from: .files(directory: path, encoding: encoding), options: options).result()
  }

  private func expectRefused() async {
    let error = await #expect(throws: StorageError.self) { _ = try await open() }
    #expect(error?.code == .foreignFormat, "\(String(describing: error))")
  }

  @Test("JSON files get Coffer's form under their names, and the rest of the directory stays untouched")
  func jsonFiles() async throws {
    try legacy("various-files")
    try FileManager.default.createDirectory(atPath: path + "/Photos", withIntermediateDirectories: true)
    try Data("x".utf8).write(to: URL(fileURLWithPath: path + "/Photos/a.jpg"))
    try FileManager.default.createSymbolicLink(atPath: path + "/link", withDestinationPath: "text")
    for (name, text) in [("userName", "\"John\""), (".DS_Store", "x")] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
    let store = try await open(.takeOver)
    await expectRefused()
    let dry = try await takeOver(store, .json) { $0.isDryRun = true }
    let report = try await takeOver(store, .json)
    #expect(report.taken == 9 && report.isComplete && report.skipped == 2 && dry.taken == 9)
    #expect(try await store.load(String.self, for: "text") == "a \"quoted\" / text\n")
    #expect(try await store.load(Data.self, for: "bytes") == Data([0, 255, 1]))
    #expect(try await store.load(String.self, for: "userName") == "John")
    #expect(FileManager.default.fileExists(atPath: path + "/userName"), "a file that is no value of the store stays")
    try await store.engine.close()
    let again = try await open()
    #expect(try await again.load(String.self, for: "theme") == "dark")
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/Photos/a.jpg")) == Data("x".utf8))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path + "/link") == "text")
    await #expect(throws: StorageError.self) { _ = try await takeOver(again, .json) }
    try await again.engine.close()
  }

  @Test("StoredObject files keep their transaction ids, and their names in snake case are mapped")
  func storedObjects() async throws {
    try legacy("objects")
    let before = try Data(contentsOf: URL(fileURLWithPath: path + "/user_profile"))
    let json = try #require(try JSONSerialization.jsonObject(with: before) as? [String: String])
    let store = try await open(.takeOver)
    let report = try await takeOver(store, .storedJSON) { $0.mapping = try KeyMapping([], convertsSnakeCase: true) }
    #expect(report.taken == 2 && report.isComplete)
    #expect(try await store.load(String.self, for: "userProfile") == "user_profile")
    #expect(
      try await store.engine.entry("userProfile")?.attributes.legacyTransaction?.uuidString == json["transactionID"])
    #expect(try await store.engine.entry("user_profile") == nil)
    try await store.save("new", for: "userProfile")
    #expect(try await store.engine.entry("userProfile")?.attributes.legacyTransaction == nil)
    try await store.engine.close()
    #expect(!FileManager.default.fileExists(atPath: path + "/user_profile"))
  }

  @Test("What cannot be taken keeps the directory refused until it is taken or ignored")
  func incomplete() async throws {
    try legacy("files")
    try Data("{\"cut".utf8).write(to: URL(fileURLWithPath: path + "/broken"))
    let store = try await open(.takeOver)
    let report = try await takeOver(store, .json)
    #expect(report.taken == 3 && report.unreadable == 1)
    try await store.engine.close()
    await expectRefused()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "/broken")) == Data("{\"cut".utf8))
    try Data("{\"cut\":0}".utf8).write(to: URL(fileURLWithPath: path + "/broken"))
    let second = try await open(.takeOver)
    #expect(try await takeOver(second, .json).isComplete)
    #expect(try await second.load(String.self, for: "userName") == "John")
    try await second.engine.close()
    try await open().engine.close()
  }

  @Test("What the application saves before or during a run is a value, and never decoded as an original")
  func savedMeanwhile() async throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for number in 100..<500 { try write("key-\(number)", "\"text \(number)\"") }
    try write("broken", "{\"cut")
    let store = try await open(.takeOver)
    let neighbour = try await open(.takeOver)
    try await neighbour.save("\"in quotes\"", for: "key-499")
    let helper = try HelperProcess(["take-over-in-place", location, path, "pause"])
    while let line = try helper.line(), line != "committed" {}
    // The first batch is committed, and the others are not read yet.
    try await store.save("no JSON", for: "key-498")
    try await neighbour.save(Data("\"bytes\"".utf8), for: "later")
    try await store.delete("key-497")
    for _ in 0..<4 { helper.tell("go on") }
    #expect(try helper.lines().last?.hasPrefix("done 397 ") == true)
    try await store.save("\"replaced\"", for: "key-100")
    try write("broken", "0")
    let report = try await takeOver(store, .json)
    #expect(report.isComplete && report.taken == 1, "\(report)")
    try await store.engine.close()
    try await neighbour.engine.close()
    let after = try await open()
    for (key, text) in [
      ("key-499", "\"in quotes\""), ("key-498", "no JSON"), ("later", "\"bytes\""), ("key-100", "\"replaced\""),
      ("key-101", "text 101"),
    ] {
      #expect(try await after.load(String.self, for: StoreKey(key)) == text)
    }
    #expect(try await after.engine.entry("key-497") == nil)
    try await after.engine.close()
  }

  @Test("A file that cannot be read is reported, and the take-over goes on with the next run")
  func unreadable() async throws {
    try legacy("files")
    let limit = 1 << 30
    try write("large", "")
    try #require(truncate(path + "/large", off_t(limit + 1)) == 0)
    let store = try await open(.takeOver)
    let dry = try await takeOver(store, .json) { $0.isDryRun = true }
    #expect(dry.unreadable == 1 && dry.taken == 3)
    let unmapped = try await takeOver(store, .json) {
      $0.mapping = try KeyMapping([("none", "none")], takesOthers: false)
    }
    #expect(unmapped.unreadable == 0 && unmapped.skipped == 4, "\(unmapped)")
    let report = try await takeOver(store, .json)
    #expect(report.taken == 3 && report.unreadable == 1 && !report.isComplete)
    #expect(report.entries.contains { $0.name == "large" })
    await expectRefused()
    try write("large", "\"now\"")
    #expect(try await takeOver(store, .json).isComplete)
    #expect(try await store.load(String.self, for: "large") == "now")
    try await store.engine.close()
    try await open().engine.close()
  }

  @Test("A run ends when another process declares the files to be values, and what that saves is not converted")
  func declaredMeanwhile() async throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for number in 100..<500 { try write("key-\(number)", "\"text \(number)\"") }
    let helper = try HelperProcess(["take-over-in-place", location, path, "pause"])
    while let line = try helper.line(), line != "committed" {}
    let store = try await open(.ignore)
    try await store.save("\"in quotes\"", for: "key-498")
    for _ in 0..<4 { helper.tell("go on") }
    #expect(try helper.lines().last?.hasPrefix("failed foreignFormat") == true)
    #expect(try await store.load(String.self, for: "key-498") == "\"in quotes\"")
    #expect(try await store.load(String.self, for: "key-499") == "\"text 499\"", "a file that was not taken yet")
    #expect(try await store.load(String.self, for: "key-100") == "text 100")
    try await store.engine.close()
  }

  @Test("A value that the store cannot hold is reported, and the others are taken", arguments: [true, false])
  func obstructed(inPlace: Bool) async throws {
    try legacy("files")
    let new = inPlace ? path : directory.path("new")
    try FileManager.default.createDirectory(atPath: new + "/photos", withIntermediateDirectories: true)
    var options = StoreOptions()
    options.foreignData = inPlace ? .takeOver : .refuse
    let store = TypedStore(engine: try await StoreLocation("file:\(new)").open(options))
    for _ in 0..<2 {
      let report = try await takeOver(store, .json) { $0.mapping = try KeyMapping([("token", "photos")]) }
      #expect(report.unreadable == 1 && report.entries.contains { $0.name == "token" }, "\(report)")
      #expect(try await store.load(String.self, for: "userName") == "John")
    }
    #expect(FileManager.default.fileExists(atPath: path + "/token"))
    try FileManager.default.removeItem(atPath: new + "/photos")
    let report = try await takeOver(store, .json) { $0.mapping = try KeyMapping([("token", "photos")]) }
    #expect(report.isComplete && report.taken >= 1)
    #expect(try await store.exists("photos"))
    try await store.engine.close()
  }

  @Test("A dry run over a directory that is no store yet lists what would be taken, and changes nothing")
  func dryRunBefore() async throws {
    try legacy("files")
    var options = StoreOptions()
    (options.foreignData, options.access) = (.takeOver, .readOnly)
    let engine = try await StoreLocation(location).open(options)
    let report = try await takeOver(TypedStore(engine: engine), .json) { $0.isDryRun = true }
    #expect(report.taken == 3 && report.isComplete, "\(report)")
    try await engine.close()
    #expect(!FileManager.default.fileExists(atPath: path + "/.coffer"))
  }

  @Test("A run that is killed at any moment leaves originals or taken values, and the next one completes it")
  func killed() async throws {
    let count = isProving ? 20_000 : 3_000
    try legacy("various-files", count)
    var random = SeededGenerator(seed: 7)
    for _ in 0..<(isProving ? 100 : 8) {
      let helper = try HelperProcess(["take-over-in-place", location, path])
      _ = try helper.line()
      for _ in 0..<Int.random(in: 0...5, using: &random) { _ = try helper.line() }
      helper.kill()
      _ = helper.wait()
      if FileManager.default.fileExists(atPath: path + "/.coffer/taking-over") { await expectRefused() }
    }
    let last = try HelperProcess(["take-over-in-place", location, path])
    let report = try last.lines().last
    if report?.hasPrefix("done") != true { #expect(report?.contains("unsupported") == true, "\(report ?? "-")") }
    let store = try await open()
    #expect(try await store.engine.summaries().count == count)
    for number in [0, count / 2, count - 1] {
      #expect(try await store.load(String.self, for: StoreKey("key-\(number)")) == "text \(number)")
    }
    try await store.engine.close()
  }

  @Test("A file in the form of another program that appears in a store is no value, until it is taken or replaced")
  func laterFiles() async throws {
    let first = try await open()
    try await first.save("light", for: "theme")
    try Data("plain edit".utf8).write(to: URL(fileURLWithPath: path + "/name"))
    #expect(try await first.load(String.self, for: "name") == "plain edit")
    try legacy("objects")
    // The edit is noticed within moments; until then, a cached value may be returned.
    let deadline = ContinuousClock.now + .seconds(60)
    while (try? await first.load(String.self, for: "theme")) != nil { try #require(ContinuousClock.now < deadline) }
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { _ = try await first.load(String.self, for: "theme") }
      #expect(error?.code == .foreignFormat && error?.key == "theme", "\(String(describing: error))")
      let vault = EngineVaultService(engine: first.engine)
      await #expect(throws: (any Error).self) { _ = try await vault.loadData(forKey: "theme") }
    }
    // An application that declares such files to be values reads their bytes, and refuses them again without that.
    try await first.engine.close()
    let ignoring = try await open(.ignore)
    let wrapped = try #require(try await ignoring.engine.entry("theme"))
    #expect(try await ignoring.load(Data.self, for: "theme") == wrapped.value && !wrapped.value.isEmpty)
    try await ignoring.engine.close()
    let store = try await open()
    await #expect(throws: StorageError.self) { _ = try await store.load(String.self, for: "theme") }
    try await store.save("own", for: "user_profile")
    let report = try await takeOver(store, .storedJSON)
    #expect(report.taken == 1 && report.isComplete)
    #expect(try await store.load(String.self, for: "theme") == "theme")
    #expect(try await store.load(String.self, for: "user_profile") == "own")
    // What this library was given to store is a value, whatever it looks like.
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path + "/theme")), as: UTF8.self)
    let object = "{\"transactionID\":\"7B1C3E3E-6F5B-4E0B-9D2A-000000000001\",\"value\":\"ImEi\"}"
    try await store.save(object, for: "theme")
    #expect(try await store.load(String.self, for: "theme") == object && !text.isEmpty)
    try await store.engine.close()
  }

  @Test(arguments: [
    ("user_name", "userName"), ("__a_b__c_", "__aBC_"), ("_", "_"), ("a_é", "aé"), ("plain", "plain"), ("a_1b", "a1b"),
  ])
  func snakeCase(_ old: String, _ new: String) async throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data("1".utf8).write(to: URL(fileURLWithPath: "\(path)/\(old)"))
    let engine = MemoryEngine()
    var options = TakeOverOptions()
    options.mapping = try KeyMapping([], convertsSnakeCase: true)
    _ = try await engine.takeOver(from: .files(directory: path), options: options).result()
    #expect(try await engine.summaries().map(\.key.string) == [new])
  }
}
