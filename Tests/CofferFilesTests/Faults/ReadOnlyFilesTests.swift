import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// A read-only store of files: a directory with a second, read-only mount.
@Suite(.blocking, .serialized, .timeLimit(.minutes(15))) struct ReadOnlyFilesTests {
  private static let committed = ["committed", "placed", "synced", "finished"]

  /// Opens the store for reading only on purpose, and checks that nothing in it changes.
  private func readingOnPurpose(_ directory: StoreDirectory, _ body: (SlotEngine) async throws -> Void) async throws {
    let before = try DirectoryContents(of: directory.url)
    var configuration = SlotEngine.Configuration()
    configuration.access = .readOnly
    let engine = try await SlotEngine.files(in: directory.url, configuration: configuration)
    #expect(engine.isReadOnly)
    try await body(engine)
    try await engine.close()
    #expect(try DirectoryContents(of: directory.url).changes(since: before).isEmpty)
  }

  /// Opens the store through its read-only mount and checks that nothing in it changes.
  private func reading(
    _ directory: StoreDirectory, _ damages: Locked<[DamageReport]>? = nil,
    _ body: (SlotEngine) async throws -> Void
  ) async throws {
    guard let mount = try ReadOnlyMount(of: directory.path, at: directory.outside("mount \(UUID().uuidString)")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    let before = try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()
    var configuration = SlotEngine.Configuration()
    configuration.foreignData = .ignore
    configuration.onDamage = { report in damages?.withLock { $0.append(report) } }
    let engine = try await SlotEngine.files(in: URL(fileURLWithPath: mount.path), configuration: configuration)
    #expect(engine.isReadOnly)
    try await body(engine)
    try await engine.close()
    await expectError(.closed) { _ = try await engine.entry(KeyName("theme")) }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted() == before)
  }

  private func expect(_ expected: [String: String], in engine: SlotEngine, _ comment: Comment) async throws {
    #expect(try await values(engine) == expected, comment)
    #expect(
      try await engine.summaries().map(\.key.string)
        == expected.keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }, comment)
    for key in Set(FileScenario.before.keys).union(FileScenario.after.keys) {
      #expect(
        try await engine.entry(KeyName(key))?.value == expected[key].map { Data($0.utf8) },
        "\(key.prefix(9)); \(comment)")
    }
    #expect(
      try await engine.withSnapshot { try await $0.page(prefix: KeyName("list/"), after: nil, limit: 1) }.count == 1)
  }

  @Test("Every value is readable, and writing throws the reason why it cannot be done")
  func closedStore() async throws {
    let directory = try await StoreDirectory.filled()
    try await reading(directory) { engine in
      try await expect(FileScenario.before, in: engine, "closed")
      #expect(
        try await engine.summaries().compactMap(\.size).reduce(0, +)
          == FileScenario.before.values.reduce(0) { $0 + $1.utf8.count }
      )
      #expect(engine.latestRevision == StoreRevision(1))
      #expect(try await commits(engine, after: .zero).count == 1)
      #expect(engine.capabilities.contains([.snapshots, .listing, .persistence, .replay, .foreignWriters]))
      #expect(
        engine.capabilities.features.isDisjoint(with: [.atomicBatches, .preconditions, .powerLossSafety, .revisions]))
      await expectError(.readOnly, contains: "open for reading only: its file system is mounted read-only") {
        try await engine.commit(FileScenario.single(), from: StoreOrigin())
      }
      for await availability in engine.availability() {
        #expect(availability == .available)
        break
      }
    }
  }

  // Requirement 5.6
  @Test("After a writer was killed at any step, the committed state is read")
  func stepKills() async throws {
    var kills = 0
    for step in 1...100 {
      let directory = try await StoreDirectory.filled()
      let helper = try directory.run("files-commit", "\(step)")
      let lines = try helper.lines()
      helper.wait()
      let last = String((lines.last { $0.hasPrefix("step") } ?? "").dropFirst(5))
      let isNew = Self.committed.contains(last)
      func check(_ engine: SlotEngine) async throws {
        let comment: Comment = "killed at \(step): \(last)"
        try await expect(isNew ? FileScenario.after : FileScenario.before, in: engine, comment)
        #expect(engine.latestRevision == StoreRevision(isNew ? 2 : 1), comment)
      }
      try await readingOnPurpose(directory, check)
      try await reading(directory, nil, check)
      if lines.last == "closed" { break }
      kills += 1
    }
    #expect(kills >= 13 && kills < 100, "\(kills)")
  }

  @Test("A committed value whose staged file is missing is damaged, never the previous value")
  func lostWaiting() async throws {
    let directory = try await StoreDirectory.filled()
    let helper = try directory.run("files-commit", "6")
    let lines = try helper.lines()
    helper.wait()
    try #require(lines.last == "step committed", "\(lines)")
    for name in try directory.names(in: "staged") {
      try FileManager.default.removeItem(atPath: directory.control("staged/\(name)"))
    }
    try await reading(directory) { engine in
      for key in ["theme", "Fresh", FileScenario.longKey, "list/2"] {
        await expectError(.damaged, contains: "staged value is missing") { _ = try await engine.entry(KeyName(key)) }
      }
      // Removed by the same commit, which is not rolled forward.
      for (key, text) in [("gone", nil), ("list/1", nil), ("keep", "kept")] {
        let value = try await engine.entry(KeyName(key))?.value
        #expect(value == text.map { Data($0.utf8) }, "\(key)")
      }
    }
  }

  // Requirement 5.6
  @Test("A damaged value is reported and not quarantined, an edit is read and not recorded, nothing else is a store")
  func onPurpose() async throws {
    let directory = try await StoreDirectory.filled()
    try overwrite(directory.path + "/added", "by hand")
    var status = stat()
    let kept = try directory.file("keep")
    #expect(stat(kept, &status) == 0)
    try overwrite(kept, "kepT")
    var times = [status.st_atim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, kept, &times, 0) == 0)
    try await readingOnPurpose(directory) { (engine: SlotEngine) async throws -> Void in
      #expect(try await engine.entry(KeyName("added"))?.value == Data("by hand".utf8))
      await expectError(.damaged, contains: "left unchanged") { _ = try await engine.entry(KeyName("keep")) }
      await expectError(.readOnly, contains: "read-only access was requested") {
        try await engine.restore(from: directory.outside("none"), keepingReplacedAt: directory.outside("kept"))
      }
      #expect(access(directory.outside("kept"), F_OK) != 0)
      #expect(engine.latestRevision == StoreRevision(1))
    }
    let plain = try StoreDirectory()
    try FileManager.default.createDirectory(at: plain.url, withIntermediateDirectories: true)
    try overwrite(plain.path + "/theme", "by hand")
    await expectError(.foreignFormat) { try await readingOnPurpose(plain) { _ in } }
  }

  @Test("Edits are read, and damage is distinguished from edits")
  func editsAndDamage() async throws {
    let directory = try await StoreDirectory.filled()
    try directory.replace("theme", "edited")
    try overwrite(directory.path + "/added", "by hand")
    try FileManager.default.removeItem(atPath: directory.file("gone"))
    var status = stat()
    let kept = try directory.file("keep")
    #expect(stat(kept, &status) == 0)
    try overwrite(kept, "kepT")
    var times = [status.st_atim, status.st_mtim]
    #expect(utimensat(AT_FDCWD, kept, &times, 0) == 0)
    let damages = Locked<[DamageReport]>([])
    try await reading(directory, damages) { engine in
      #expect(try await engine.entry(KeyName("theme"))?.value == Data("edited".utf8))
      #expect(try await engine.entry(KeyName("added"))?.value == Data("by hand".utf8))
      #expect(try await engine.entry(KeyName("gone")) == nil)
      for _ in 0..<2 {
        await expectError(.damaged, contains: "left unchanged") { _ = try await engine.entry(KeyName("keep")) }
      }
      #expect(damages.withLock { $0.map(\.key?.string) } == ["keep"])
      await expectError(.damaged, contains: "keep") { _ = try await values(engine) }
      let keys = try await engine.summaries().map(\.key.string)
      #expect(keys.contains("added") && keys.contains("keep") && !keys.contains("gone"), "\(keys)")
      try overwrite(directory.path + "/later", "later")
      #expect(try await engine.entry(KeyName("later"))?.value == Data("later".utf8))
      try FileManager.default.removeItem(atPath: directory.path + "/later")
    }
  }

  @Test("Without a journal the values are read without records, until a journal is created")
  func noJournal() async throws {
    let directory = try StoreDirectory()
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try overwrite(directory.path + "/theme", "by hand")
    try await reading(directory) { engine in
      #expect(try await values(engine) == ["theme": "by hand"])
      #expect(engine.latestRevision == .zero && engine.journal == nil)
      for await _ in engine.changes(since: nil) { Issue.record("received a change without a journal") }
      var existing = SlotEngine.Configuration()
      existing.createsIfMissing = false
      await expectError(.foreignFormat) {
        _ = try await SlotEngine.files(
          in: URL(fileURLWithPath: String(engine.description.dropFirst(5))), configuration: existing)
      }
      let writer = try await directory.open { $0.foreignData = .ignore }
      await expectError(.unavailable, contains: "no journal") { _ = try await engine.entry(KeyName("theme")) }
      try await writer.close()
      try FileManager.default.removeItem(atPath: directory.control(""))
    }
  }

  @Test("Commits of other processes are read and delivered; a snapshot never mixes two states")
  func foreignWriter() async throws {
    let directory = try await StoreDirectory.filled()
    let writer = try await directory.open()
    guard let mount = try ReadOnlyMount(of: directory.path, at: directory.outside("mount")) else {
      return print("Not checked: a read-only mount, which this user may not make.")
    }
    let engine = try await SlotEngine.files(in: URL(fileURLWithPath: mount.path))
    var heard = engine.changes(since: nil).makeAsyncIterator()
    let theme = KeyName("theme")
    for round in 1...3 {
      let value = Data("round \(round)".utf8)
      try await writer.commit(WriteBatch([.put(KeyName("theme"), value)]), from: StoreOrigin())
      #expect(try await engine.entry(KeyName("theme"))?.value == value)
      guard case .commit(let commit)? = await heard.next() else { throw TestFailure("no commit was received") }
      #expect(commit.revision == StoreRevision(UInt64(round + 1)) && commit.changed.contains(theme))
    }
    try await engine.withSnapshot { snapshot in
      #expect(try await snapshot.entries([KeyName("theme")])[0]?.value == Data("round 3".utf8))
      try await writer.commit(
        WriteBatch([.put(KeyName("theme"), Data("late".utf8)), .put(KeyName("added"), Data("late".utf8))]),
        from: StoreOrigin())
      await expectError(.unavailable) { _ = try await snapshot.entries([theme]) }
      // If SQLite's locks cannot be acquired, further reads in the snapshot fail.
      let added = (try? await snapshot.entries([KeyName("added")]))?[0]
      #expect(added == nil)
    }
    try await engine.close()
    try await writer.close()
  }
}
