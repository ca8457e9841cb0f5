import CofferCore
import CofferFileSystem
import CofferPreferences
import CofferSQLite
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Preferences where nothing can be written: their directory is mounted read-only in a second place.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct ReadOnlyPreferencesTests {
  private static let committed = ["committed", "placed", "synced", "finished"]

  /// Opens the suite where it cannot be written; what is in it stays as it was.
  private func reading(_ home: ConfigHome, _ body: (SlotEngine) async throws -> Void) async throws {
    guard let mount = try ReadOnlyMount(of: home.path, at: home.outside("mount \(UUID().uuidString)")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted()
    let engine = try await SystemDirectories.$current.withValue(ConfigHome.system(mount.path)) {
      try await SlotEngine.preferences(suite: home.suite)
    }
    #expect(engine.isReadOnly)
    try await body(engine)
    try await engine.close()
    #expect(try FileManager.default.subpathsOfDirectory(atPath: home.path).sorted() == before)
  }

  private func expect(_ expected: [String: String], in engine: SlotEngine, _ comment: Comment) async throws {
    let page = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    let found = Dictionary(
      uniqueKeysWithValues: page.map { ($0.key.string, String(decoding: $0.value, as: UTF8.self)) })
    #expect(found == expected, comment)
    for key in Set(FileScenario.before.keys).union(FileScenario.after.keys) {
      #expect(try await engine.entry(StoreKey(key))?.value == expected[key].map { Data($0.utf8) }, comment)
    }
  }

  @Test("What a writer has left that was killed at any step is read as it was committed")
  func stepKills() async throws {
    var kills = 0
    for step in 1...100 {
      let home = try await ConfigHome.filled()
      let helper = try home.run("prefs-commit", "\(step)")
      let lines = try helper.lines()
      helper.wait()
      let last = String((lines.last { $0.hasPrefix("step") } ?? "").dropFirst(5))
      let isNew = Self.committed.contains(last)
      try await reading(home) { engine in
        let comment: Comment = "killed at \(step): \(last)"
        try await expect(isNew ? FileScenario.after : FileScenario.before, in: engine, comment)
        #expect(engine.latestRevision == StoreRevision(isNew ? 2 : 1), comment)
      }
      if lines.last == "closed" { break }
      kills += 1
    }
    #expect(kills >= 13 && kills < 100, "\(kills)")
  }

  @Test("Types are told, edits are read as they are, and writing says why it cannot be")
  func adapter() async throws {
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    try await adapter.set(7, for: "number")
    try await adapter.set("dark", for: "theme")
    try await adapter.engine.close()
    var list = try home.propertyList()
    (list["theme"], list["added"]) = ("edited", "by hand")
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: home.file))
    try await reading(home) { engine in try await check(UserDefaultsAdapter(engine: engine)) }
  }

  private func check(_ adapter: UserDefaultsAdapter) async throws {
    let number = try await adapter.value(for: "number")
    #expect(number == .integer(7))
    for (key, text) in [("theme", "edited"), ("added", "by hand"), ("none", nil)] {
      let value = try await adapter.value(for: key)
      #expect(value?.string == text)
    }
    let keys = try await adapter.keys()
    #expect(keys == ["added", "number", "theme"])
    let error = await #expect(throws: StorageError.self) { _ = try await adapter.set("light", for: "theme") }
    #expect(error?.code == .permissionDenied && error?.message.contains("open for reading only") == true)
  }

  @Test("A damaged file is read as it was written last, without keeping its bytes")
  func damage() async throws {
    let home = try await ConfigHome.filled()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: home.file))
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: URL(fileURLWithPath: home.file))
    try await reading(home) { try await expect(FileScenario.before, in: $0, "from the copy") }
    try FileManager.default.removeItem(atPath: home.control + "/copy")
    try await reading(home) { engine in
      let error = await #expect(throws: StorageError.self) { _ = try await engine.entry(StoreKey("theme")) }
      #expect(
        error?.code == .damaged && error?.advice.contains("stay where they are") == true, "\(String(describing: error))"
      )
    }
  }

  @Test("A file of others is read without a journal")
  func noJournal() async throws {
    let home = try await ConfigHome.filled()
    try FileManager.default.removeItem(atPath: home.path + "/.coffer-preferences")
    try await reading(home) { engine in
      try await expect(FileScenario.before, in: engine, "without a journal")
      #expect(engine.latestRevision == .zero && engine.journal == nil)
    }
  }

  /// What is not there is not made, and cannot be.
  @Test("Preferences that nobody has begun are refused, or not found")
  func none() async throws {
    let home = try await ConfigHome.filled()
    guard let mount = try ReadOnlyMount(of: home.path, at: home.outside("mount")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    for (creates, code) in [(true, StorageError.Code.permissionDenied), (false, .notFound)] {
      let error = await #expect(throws: StorageError.self) {
        _ = try await SystemDirectories.$current.withValue(ConfigHome.system(mount.path)) {
          var configuration = SlotConfiguration()
          configuration.createsIfMissing = creates
          return try await SlotEngine.preferences(suite: "none", configuration: configuration)
        }
      }
      #expect(error?.code == code, "\(String(describing: error))")
    }
  }

  @Test("Another user reads what the owner lets others read")
  func anotherUser() async throws {
    guard getuid() == 0 else { return print("Not checked: another user, whom only root can become.") }
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    try await adapter.set("old theme", for: "theme")
    try await adapter.engine.close()
    let below = try FileManager.default.subpathsOfDirectory(atPath: home.path).map { home.path + "/" + $0 }
    for path in [home.outside(""), home.path] + below {
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(chmod(path, status.st_mode & S_IFMT == S_IFDIR ? 0o755 : 0o644) == 0)
    }
    let talk = try home.run("prefs-as-nobody")
    #expect(try talk.line() == "ready")
    talk.tell("read")
    #expect(try talk.line() == "theme old theme")
    #expect(try talk.line() == "read ok")
    talk.tell("write")
    let refusal = try talk.line() ?? ""
    #expect(refusal.hasPrefix("write permissionDenied") && refusal.contains("open for reading only"), "\(refusal)")
    talk.tell("available")
    #expect(try talk.line() == "available")
  }
}
