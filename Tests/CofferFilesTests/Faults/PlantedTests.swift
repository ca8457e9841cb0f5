import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Links, directories and pipes planted where the store's files should be.
@Suite(.serialized) struct PlantedTests {
  private let origin = StoreOrigin()
  private let secret = Data("somebody else's".utf8)

  private func target(_ directory: StoreDirectory) throws -> String {
    let path = directory.outside("target")
    try secret.write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test(arguments: ["theme", "unknown", FileScenario.longKey])
  func aLinkInPlaceOfAValueIsNeverFollowed(key: String) async throws {
    let directory = try await StoreDirectory.filled()
    let (target, path) = (try target(directory), try directory.file(key))
    unlink(path)
    #expect(symlink(target, path) == 0)
    let engine = try await directory.open()
    for _ in 0..<2 { await expectError(.notAStore, contains: "link") { _ = try await engine.entry(KeyName(key)) } }
    #expect(try await engine.entry(KeyName("keep")) != nil)
    try await engine.commit(WriteBatch([.put(KeyName(key), Data("mine".utf8))]), from: origin)
    #expect(try await engine.entry(KeyName(key))?.value == Data("mine".utf8))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == secret)
    // In one step: a link that appears after the removal was noticed is not in place of a value, and stays.
    let link = directory.outside("link")
    #expect(symlink(target, link) == 0 && rename(link, path) == 0)
    try await engine.commit(WriteBatch([.delete(KeyName(key))]), from: origin)
    #expect(try await engine.entry(KeyName(key)) == nil)
    #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == secret)
    try await engine.close()
  }

  @Test(arguments: ["", "journal.db", "journal.db-wal", "journal.db-wake", "staged", "retained", "names", "owners"])
  func aLinkInPlaceOfOurOwnThingsIsRefused(name: String) async throws {
    let directory = try await StoreDirectory.filled()
    let path = name.isEmpty ? directory.path + "/.coffer" : directory.control(name)
    let moved = directory.outside("moved")
    if rename(path, moved) != 0 { try Data().write(to: URL(fileURLWithPath: moved)) }
    #expect(symlink(moved, path) == 0)
    let before = try? Data(contentsOf: URL(fileURLWithPath: moved))
    await expectError(.notAStore, contains: "link") { _ = try await directory.open() }
    #expect((try? Data(contentsOf: URL(fileURLWithPath: moved))) == before)
    // Once the original is restored, the store is intact.
    unlink(path)
    rename(moved, path)
    _ = try await Aftermath(directory: directory, comment: "after a link at .coffer/\(name)").check(mustBeOld: true)
  }

  @Test func aDirectoryInPlaceOfAValue() async throws {
    let directory = try await StoreDirectory.filled()
    for key in ["theme", "Fresh"] {
      unlink(try directory.file(key))
      #expect(mkdir(try directory.file(key), 0o700) == 0)
    }
    let engine = try await directory.open()
    await expectError(.notAStore, contains: "directory") { _ = try await engine.entry(KeyName("theme")) }
    #expect(try await engine.entry(KeyName("Fresh")) == nil)
    let revision = engine.latestRevision
    for key in ["theme", "Fresh"] {
      await expectError(.notAStore, contains: "directory") {
        try await engine.commit(
          WriteBatch([.put(KeyName("other"), Data()), .put(KeyName(key), Data())]), from: origin)
      }
    }
    #expect(try await engine.entry(KeyName("other")) == nil)
    #expect(engine.latestRevision == revision)
    #expect(try directory.names(in: "staged") == [])
    // It may contain the user's files, so it is not removed with the key.
    try secret.write(to: URL(fileURLWithPath: directory.file("theme") + "/inside"))
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin)
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.file("theme") + "/inside")) == secret)
    try await engine.close()
  }

  /// Opening a pipe for reading waits for a writer unless it is opened with `O_NONBLOCK`.
  @Test func aPipeInPlaceOfAValueBlocksNobody() async throws {
    let directory = try await StoreDirectory.filled()
    unlink(try directory.file("theme"))
    #expect(mkfifo(try directory.file("theme"), 0o600) == 0)
    #expect(mkfifo(try directory.file("another"), 0o600) == 0)
    let work = Task {
      let engine = try await directory.open()
      await expectError(.notAStore) { _ = try await engine.entry(KeyName("theme")) }
      await expectError(.notAStore) { _ = try await engine.entry(KeyName("another")) }
      try await engine.commit(WriteBatch([.put(KeyName("theme"), Data("mine".utf8))]), from: StoreOrigin())
      #expect(try await engine.entry(KeyName("theme"))?.value == Data("mine".utf8))
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      try await engine.close()
    }
    try await finish(work, within: .seconds(60))
  }

  @Test func unknownFilesAreNeverTouched() async throws {
    let directory = try await StoreDirectory.filled()
    let unknown = ["notes.txt~", ".hidden", "UPPER", "%61", "a b", "café", ".coffer.bak", "-dash", "aux"]
    for name in unknown { try secret.write(to: directory.url.appendingPathComponent(name)) }
    let folder = directory.url.appendingPathComponent("folder", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try secret.write(to: folder.appendingPathComponent("theme"))
    let strange = directory.path + "/not-utf8-"
    let bytes = Array(strange.utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0]
    let file = creat(bytes, 0o600)
    #expect(file >= 0)
    close(file)

    let engine = try await directory.open { $0.onRecovery = { Issue.record("\($0)") } }
    #expect(try await values(engine) == FileScenario.before)
    try await engine.commit(FileScenario.batch(), from: origin)
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin)
    #expect(try await values(engine) == [:])
    try await engine.close()
    for name in unknown {
      #expect(try Data(contentsOf: directory.url.appendingPathComponent(name)) == secret, "\(name)")
    }
    #expect(try Data(contentsOf: folder.appendingPathComponent("theme")) == secret)
    #expect(access(bytes, F_OK) == 0)
  }
}
