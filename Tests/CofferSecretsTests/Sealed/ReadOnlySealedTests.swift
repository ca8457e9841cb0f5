import CofferCore
import CofferEncryption
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// A sealed file that cannot be written: its directory is mounted read-only at a second path.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct ReadOnlySealedTests {
  private static let committed = ["committed", "placed", "synced", "finished"]

  private func filled() async throws -> SealedFixture {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    try await engine.commit(FileScenario.fill(), from: StoreOrigin())
    try await engine.close()
    return fixture
  }

  /// Opens the file read-only, and checks that its directory is not changed.
  private func reading(
    _ fixture: SealedFixture, _ text: String = "correct horse", _ body: (SlotEngine) async throws -> Void
  ) async throws {
    let source = fixture.url.deletingLastPathComponent().path
    let outside = try TemporaryDirectory()
    guard let mount = try ReadOnlyMount(of: source, at: outside.path("mount")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: source).sorted()
    let engine = try await SlotEngine.sealed(
      at: URL(fileURLWithPath: mount.path + "/secrets.sealed"), passphrase: passphrase(text))
    #expect(engine.isReadOnly)
    try await body(engine)
    try await engine.close()
    #expect(try FileManager.default.subpathsOfDirectory(atPath: source).sorted() == before)
  }

  /// Opens the file for reading only on purpose, and checks that nothing in its directory changes.
  private func readingOnPurpose(_ fixture: SealedFixture, _ body: (SlotEngine) async throws -> Void) async throws {
    let directory = fixture.url.deletingLastPathComponent()
    let before = try DirectoryContents(of: directory)
    let engine = try await fixture.open { $0.access = .readOnly }
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

  @Test("The committed state is read after a writer was killed at any step")
  func stepKills() async throws {
    var kills = 0
    for step in 1...100 {
      let fixture = try await filled()
      let helper = try HelperProcess(["sealed-commit", fixture.path, "\(step)"])
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
      try await reading(fixture, "correct horse", check)
      if lines.last == "closed" { break }
      kills += 1
    }
    #expect(kills >= 13 && kills < 100, "\(kills)")
  }

  @Test("Writing throws the reason, and a wrong passphrase is reported as such")
  func refusals() async throws {
    let fixture = try await filled()
    try await reading(fixture) { engine in
      try await expect(FileScenario.before, in: engine, "closed")
      let adapter = KeychainAdapter(engine: engine)
      #expect(try await adapter.list(prefix: "list/") == ["list/1", "list/2", "list/3"])
      try await expectError(.readOnly, "open for reading only") {
        try await adapter.set(Data("new".utf8), for: "theme")
      }
      try await expectError(.readOnly, "open for reading only") {
        try await engine.changePassphrase(to: passphrase("other"), cost: cheap)
      }
    }
    try await expectError(.wrongPassphrase) { try await reading(fixture, "wrong") { _ in } }
  }

  @Test("A sealed file without its directory is read without a journal, and damage is reported")
  func noJournal() async throws {
    let fixture = try await filled()
    let copy = try SealedFixture()
    try FileManager.default.copyItem(atPath: fixture.path, toPath: copy.path)
    try await reading(copy) { engine in
      try await expect(FileScenario.before, in: engine, "without a journal")
      #expect(engine.latestRevision == .zero && engine.journal == nil)
    }
    var bytes = try Data(contentsOf: copy.url)
    bytes[bytes.count - 20] ^= 1
    try bytes.write(to: copy.url)
    try await reading(copy) { engine in
      try await expectError(.damaged, "stay where they are") { _ = try await engine.entry(KeyName("theme")) }
    }
    // The last copy replaces the damaged file.
    bytes = try Data(contentsOf: fixture.url)
    bytes[bytes.count - 20] ^= 1
    try bytes.write(to: fixture.url)
    try await reading(fixture) { try await expect(FileScenario.before, in: $0, "from the copy") }
  }
}
