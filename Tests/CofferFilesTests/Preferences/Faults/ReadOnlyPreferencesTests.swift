import CofferCore
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Read-only preferences: their directory has a second, read-only mount.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct ReadOnlyPreferencesTests {
  private static let committed = ["committed", "placed", "synced", "finished"]

  /// Opens the suite through its read-only mount and checks that nothing in it changes.
  private func reading(_ fixture: PreferenceFixture, _ body: (SlotEngine) async throws -> Void) async throws {
    guard let mount = try ReadOnlyMount(of: fixture.path, at: fixture.outside("mount \(UUID().uuidString)")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: fixture.path).sorted()
    let engine = try await SystemDirectories.$current.withValue(PreferenceFixture.system(mount.path)) {
      try await SlotEngine.preferences(suite: fixture.suite)
    }
    #expect(engine.isReadOnly)
    try await body(engine)
    try await engine.close()
    #expect(try FileManager.default.subpathsOfDirectory(atPath: fixture.path).sorted() == before)
  }

  /// Opens the suite for reading only on purpose, and checks that nothing in it changes.
  private func readingOnPurpose(_ fixture: PreferenceFixture, _ body: (SlotEngine) async throws -> Void) async throws {
    let directory = URL(fileURLWithPath: fixture.path)
    let before = try DirectoryContents(of: directory)
    var configuration = SlotEngine.Configuration()
    configuration.access = .readOnly
    let engine = try await fixture.use { [configuration] in
      try await SlotEngine.preferences(suite: fixture.suite, configuration: configuration)
    }
    #expect(engine.isReadOnly)
    try await body(engine)
    try await engine.close()
    #expect(try DirectoryContents(of: directory).changes(since: before).isEmpty)
  }

  private func expect(_ expected: [String: String], in engine: SlotEngine, _ comment: Comment) async throws {
    let page = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    let found = Dictionary(
      uniqueKeysWithValues: page.map { ($0.key.string, String(decoding: $0.value, as: UTF8.self)) })
    #expect(found == expected, comment)
    for key in Set(FileScenario.before.keys).union(FileScenario.after.keys) {
      #expect(try await engine.entry(KeyName(key))?.value == expected[key].map { Data($0.utf8) }, comment)
    }
  }

  @Test("A damaged file is served from its copy and not quarantined")
  func onPurpose() async throws {
    let fixture = try await PreferenceFixture.filled()
    try Data("<plist torn".utf8).write(to: URL(fileURLWithPath: fixture.file))
    try await readingOnPurpose(fixture) { try await expect(FileScenario.before, in: $0, "from the copy") }
  }

  @Test("While the file is gone, no value is absent: reading throws unavailable")
  func deleted() async throws {
    let fixture = try await PreferenceFixture.filled()
    var configuration = SlotEngine.Configuration()
    configuration.access = .readOnly
    let engine = try await fixture.use { [configuration] in
      try await SlotEngine.preferences(suite: fixture.suite, configuration: configuration)
    }
    try await expect(FileScenario.before, in: engine, "before")
    #expect(rename(fixture.file, fixture.outside("kept")) == 0)
    for key in ["theme", "none"] {
      let error = await #expect(throws: StorageError.self) { _ = try await engine.entry(KeyName(key)) }
      #expect(error?.code == .unavailable && error?.message.contains("deleted") == true, "\(String(describing: error))")
    }
    let error = await #expect(throws: StorageError.self) {
      _ = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    }
    #expect(error?.code == .unavailable)
    #expect(rename(fixture.outside("kept"), fixture.file) == 0)
    try await expect(FileScenario.before, in: engine, "put back")
    try await engine.close()
  }

  @Test("After a writer was killed at any step, the committed state is read")
  func stepKills() async throws {
    var kills = 0
    for step in 1...100 {
      let fixture = try await PreferenceFixture.filled()
      let helper = try fixture.run("prefs-commit", "\(step)")
      let lines = try helper.lines()
      helper.wait()
      let last = String((lines.last { $0.hasPrefix("step") } ?? "").dropFirst(5))
      let isNew = Self.committed.contains(last)
      func check(_ engine: SlotEngine) async throws {
        let comment: Comment = "killed at \(step): \(last)"
        try await expect(isNew ? FileScenario.after : FileScenario.before, in: engine, comment)
        #expect(engine.latestRevision == StoreRevision(isNew ? 2 : 1), comment)
      }
      try await readingOnPurpose(fixture, check)
      try await reading(fixture, check)
      if lines.last == "closed" { break }
      kills += 1
    }
    #expect(kills >= 13 && kills < 100, "\(kills)")
  }

  @Test("Types are reported, edits are read, and writing throws the reason why it cannot be done")
  func adapter() async throws {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await adapter.set(7, for: "number")
    try await adapter.set("dark", for: "theme")
    try await adapter.engine.close()
    var list = try fixture.propertyList()
    (list["theme"], list["added"]) = ("edited", "by hand")
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: fixture.file))
    try await reading(fixture) { engine in try await check(UserDefaultsAdapter(engine: engine)) }
  }

  private func check(_ adapter: UserDefaultsAdapter) async throws {
    let number = try await adapter.get("number")
    #expect(number == .integer(7))
    for (key, text) in [("theme", "edited"), ("added", "by hand"), ("none", nil)] {
      let value = try await adapter.get(key)
      #expect(value?.string == text)
    }
    let keys = try await adapter.keys()
    #expect(keys == ["added", "number", "theme"])
    let error = await #expect(throws: StorageError.self) { _ = try await adapter.set("light", for: "theme") }
    #expect(error?.code == .readOnly && error?.message.contains("open for reading only") == true)
  }

  @Test("A damaged file is read from its copy, and its bytes are not quarantined")
  func damage() async throws {
    let fixture = try await PreferenceFixture.filled()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.file))
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: URL(fileURLWithPath: fixture.file))
    try await reading(fixture) { try await expect(FileScenario.before, in: $0, "from the copy") }
    try FileManager.default.removeItem(atPath: fixture.control + "/copy")
    try await reading(fixture) { engine in
      let error = await #expect(throws: StorageError.self) { _ = try await engine.entry(KeyName("theme")) }
      #expect(
        error?.code == .damaged && error?.advice.contains("stay where they are") == true, "\(String(describing: error))"
      )
    }
  }

  @Test("A file of other programs is read without a journal")
  func noJournal() async throws {
    let fixture = try await PreferenceFixture.filled()
    try FileManager.default.removeItem(atPath: fixture.path + "/.coffer-preferences")
    try await reading(fixture) { engine in
      try await expect(FileScenario.before, in: engine, "without a journal")
      #expect(engine.latestRevision == .zero && engine.journal == nil)
    }
  }

  /// A missing suite cannot be created in a read-only directory.
  @Test("Opening missing preferences throws permissionDenied, or notFound if they must exist")
  func none() async throws {
    let fixture = try await PreferenceFixture.filled()
    guard let mount = try ReadOnlyMount(of: fixture.path, at: fixture.outside("mount")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    for (creates, code) in [(true, StorageError.Code.permissionDenied), (false, .notFound)] {
      let error = await #expect(throws: StorageError.self) {
        _ = try await SystemDirectories.$current.withValue(PreferenceFixture.system(mount.path)) {
          var configuration = SlotEngine.Configuration()
          configuration.createsIfMissing = creates
          return try await SlotEngine.preferences(suite: "none", configuration: configuration)
        }
      }
      #expect(error?.code == code, "\(String(describing: error))")
    }
  }

  @Test("Another user can read files that the owner has made readable")
  func anotherUser() async throws {
    guard getuid() == 0 else { return print("Not checked: another user, whom only root can become.") }
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await adapter.set("old theme", for: "theme")
    try await adapter.engine.close()
    let below = try FileManager.default.subpathsOfDirectory(atPath: fixture.path).map { fixture.path + "/" + $0 }
    for path in [fixture.outside(""), fixture.path] + below {
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(chmod(path, status.st_mode & S_IFMT == S_IFDIR ? 0o755 : 0o644) == 0)
    }
    let talk = try fixture.run("prefs-as-nobody")
    #expect(try talk.line() == "ready")
    talk.tell("read")
    #expect(try talk.line() == "theme old theme")
    #expect(try talk.line() == "read ok")
    talk.tell("write")
    let refusal = try talk.line() ?? ""
    #expect(refusal.hasPrefix("write readOnly") && refusal.contains("open for reading only"), "\(refusal)")
    talk.tell("available")
    #expect(try talk.line() == "available")
  }
}
