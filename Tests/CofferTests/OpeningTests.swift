import Coffer
import CofferEncryption
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@Suite("Paths and URLs", .blocking)
struct OpeningTests {
  private let directory: TemporaryDirectory
  private let passphrase = PassphraseSource.provided { Data("correct horse battery".utf8) }
  private let web = URL(string: "https://example.org/a.db")

  init() throws { directory = try TemporaryDirectory() }

  private func url(_ name: String) -> URL { directory.url.appendingPathComponent(name) }

  @Test("A path and a file URL open the same store")
  func sameStore() async throws {
    let database = try await SQLiteEngine.open(at: directory.path("a.db"))
    try await expectShared(database, SQLiteEngine.open(at: url("a.db")))
    let files = try await SlotEngine.files(in: directory.path("files"))
    try await expectShared(files, SlotEngine.files(in: url("files")))
    let sealed = try await SlotEngine.sealed(at: directory.path("s.sealed"), passphrase: passphrase)
    try await expectShared(sealed, SlotEngine.sealed(at: url("s.sealed"), passphrase: passphrase))
    let tables = try await SQLiteDatabase.open(at: directory.path("b.db"), migrations: [])
    try await expectShared(tables.engine, SQLiteDatabase.open(at: url("b.db"), migrations: []).engine)
    let adapter = try await SQLiteAdapter(path: directory.path("c.db"))
    try await expectShared(adapter.engine, SQLiteAdapter(url: url("c.db")).engine)
    let folder = try await FileStorageAdapter.open(directory: directory.path("d"))
    try await expectShared(folder.engine, FileStorageAdapter.open(directory: url("d")).engine)
  }

  private func expectShared(_ one: any StorageEngine, _ other: any StorageEngine) async throws {
    try await one.commit(WriteBatch([.put("key", Data("value".utf8))]), from: StoreOrigin())
    #expect(try await other.entry("key")?.value == Data("value".utf8), "\(other.description)")
    #expect(one.description == other.description)
    try await other.close()
    try await one.close()
  }

  @Test("Backups are made and restored with URLs")
  func backups() async throws {
    let engine = try await SQLiteEngine.open(at: url("a.db"))
    try await engine.commit(WriteBatch([.put("key", Data("old".utf8))]), from: StoreOrigin())
    try await engine.backup(to: url("a.backup"))
    try await engine.close()
    try await SQLiteEngine.restore(from: url("a.backup"), to: url("b.db"))
    let files = try await SlotEngine.files(in: url("files"))
    try await files.restore(from: url("a.backup"), keepingReplacedAt: url("kept.backup"))
    #expect(try await files.entry("key")?.value == Data("old".utf8))
    try await files.backup(to: url("c.backup"))
    try await files.close()
    for name in ["b.db", "c.backup"] {
      let copy = try await SQLiteEngine.open(at: url(name))
      #expect(try await copy.entry("key")?.value == Data("old".utf8), "\(name)")
      try await copy.close()
    }
    #expect(FileManager.default.fileExists(atPath: directory.path("kept.backup")))
  }

  @Test("A web address is not the URL of a store")
  func webAddresses() async throws {
    let web = try #require(web)
    await expectRefusal { _ = try await SQLiteEngine.open(at: web) }
    await expectRefusal { _ = try await SQLiteDatabase.open(at: web, migrations: []) }
    await expectRefusal { _ = try await SQLiteAdapter(url: web) }
    await expectRefusal { _ = try await SlotEngine.files(in: web) }
    await expectRefusal { _ = try await SlotEngine.sealed(at: web, passphrase: passphrase) }
    let engine = try await SQLiteEngine.open(at: url("a.db"))
    await expectRefusal { try await engine.backup(to: web) }
    await expectRefusal { try await SQLiteEngine.restore(from: web, to: url("b.db")) }
    try await engine.close()
    #expect(!FileManager.default.fileExists(atPath: "/a.db"))
  }

  @Test("A path that is empty or has a NUL byte is refused", arguments: ["", "a\0b"])
  func emptyPaths(path: String) async throws {
    await expectRefusal { _ = try await SQLiteEngine.open(at: path) }
    await expectRefusal { _ = try await SlotEngine.files(in: path) }
    await expectRefusal { _ = try await FileStorageAdapter.open(directory: path) }
    await expectRefusal { _ = try await SlotEngine.sealed(at: path, passphrase: passphrase) }
  }

  private func expectRefusal(_ body: () async throws -> Void) async {
    let error = await expectStorageError(.inputOutput, body)
    #expect(error?.advice.isEmpty == false)
  }

  @Test("A key is written as a literal, byte for byte")
  func literals() throws {
    let key: KeyName = "caf\u{E9}/\u{1F511}"
    #expect(try key == KeyName(String(decoding: Data("caf\u{E9}/\u{1F511}".utf8), as: UTF8.self)))
    #expect(key != "cafe\u{301}/\u{1F511}" && key.size == 10)
    #expect(throws: StorageError.self) { try KeyName(String()) }
    #expect(throws: StorageError.self) { try KeyName(String(repeating: "k", count: 1_025)) }
  }

  @Test(
    "A literal that cannot be a key ends the process with a sentence",
    .enabled(if: _isDebugAssertConfiguration(), "optimized programs end without a sentence"))
  func impossibleLiteral() async throws {
    let ended = try #require(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { _ = "" as KeyName })
    #expect(String(decoding: ended.standardErrorContent, as: UTF8.self).contains("is not a key"))
  }
}
