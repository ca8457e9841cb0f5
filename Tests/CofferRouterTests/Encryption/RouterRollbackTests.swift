import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

@testable import Coffer
@testable import CofferRouter

/// Older copies of a router's stores, and their acceptance.
@Suite(.serialized, .timeLimit(.minutes(15))) struct RouterRollbackTests {
  private static let database = StorageDomain.database()
  private static let files = StorageDomain.encryptedFileSystem(.documents)

  private let fixture: RouterFixture
  private let settings: StorageConfiguration
  private let secret = plain("secret", String.self, in: database, security: .encrypted(.aes256))
  private let name = plain("name", String.self, in: database)
  private let note = plain("note", String.self, in: files)

  init() throws {
    let fixture = try RouterFixture()
    self.fixture = fixture
    settings = configured { configuration in
      configuration.encryption.key = .provider(FixedKeyMaterial(first: 1), named: "test")
      let anchors = URL(fileURLWithPath: fixture.path("anchors"))
      configuration.encryption.rollbackProtection = { RollbackProtection(anchor: FileAnchor(in: anchors, for: $0)) }
    }
  }

  private func write(_ text: String) async throws {
    try await fixture.use(settings) { router in
      try await router.set(text, for: secret)
      try await router.set(text, for: name)
      try await router.set(text, for: note)
    }
  }

  private func copy(_ source: String, to target: String) throws {
    let target = fixture.path(target)
    if FileManager.default.fileExists(atPath: target) { try FileManager.default.removeItem(atPath: target) }
    try FileManager.default.copyItem(atPath: fixture.path(source), toPath: target)
  }

  /// Puts the stores of a moment back after they were written again.
  private func rollBack() async throws {
    try await write("old")
    for stores in ["data", "documents"] { try copy(stores, to: stores + ".old") }
    try await write("new")
    for stores in ["data", "documents"] {
      try copy(stores, to: stores + ".new")
      try copy(stores + ".old", to: stores)
    }
  }

  @Test("A router that only reads does not take a store that its anchor knows for an empty one")
  func removedStores() async throws {
    try await write("one")
    for stores in ["data", "documents"] { try FileManager.default.removeItem(atPath: fixture.path(stores)) }
    var reading = settings
    reading.access = .readOnly
    try await fixture.use(reading) { router in
      for _ in 0..<2 {
        await expectError(.rolledBack) { _ = try await router.get(note) }
        await expectError(.rolledBack) { _ = try await router.get(secret) }
      }
    }
  }

  @Test("Each store has an anchor of its own in one directory")
  func anchorsOfStores() async throws {
    try await write("one")
    try await write("two")
    let found = try FileManager.default.contentsOfDirectory(atPath: fixture.path("anchors"))
    let anchors = found.filter { !$0.hasSuffix(".lock") }
    #expect(anchors.count == 2 && anchors.contains { $0.hasPrefix("coffer.db-") }, "\(anchors)")
    let directory = URL(fileURLWithPath: fixture.path("anchors"))
    let anchor = FileAnchor(in: directory, for: "sqlite:/a/b c\u{1B}é.db")
    #expect(anchor.description.hasPrefix("file:\(directory.path)/b_c__.db-"), "\(anchor)")
    #expect(anchor == FileAnchor(in: directory, for: "sqlite:/a/b c\u{1B}é.db"))
    #expect(anchor != FileAnchor(in: directory, for: "sqlite:/b/b c\u{1B}é.db"))
    for odd in ["", ":", "/", String(repeating: "x", count: 5_000)] {
      let path = FileAnchor(in: directory, for: odd).description
      #expect(path.count < directory.path.count + 100 && path.hasPrefix("file:\(directory.path)/"), "\(path)")
    }
  }

  @Test("An older store of single encrypted keys is accepted, also while its plain values are used")
  func selective() async throws {
    try await rollBack()
    try await fixture.use(settings) { router in
      #expect(try await router.get(name) == "old")
      await expectError(.rolledBack, "older copy") { _ = try await router.get(secret) }
      try await router.acceptRollback(of: Self.database)
      #expect(try await router.get(secret) == "old")
      await expectError(.busy) { try await router.acceptRollback(of: Self.database) }
      try await router.set("next", for: secret)
    }
    let next = try await fixture.use(settings) { try await $0.get(secret) }
    #expect(next == "next")
    try copy("data.new", to: "data")
    try await fixture.use(settings) { router in
      await expectError(.rolledBack) { _ = try await router.get(secret) }
    }
  }

  @Test("An older encrypted store is accepted, and the newer copy is refused then", arguments: [false, true])
  func whole(afterUse: Bool) async throws {
    try await rollBack()
    try await fixture.use(settings) { router in
      if afterUse { await expectError(.rolledBack, "older copy") { _ = try await router.get(note) } }
      try await router.acceptRollback(of: Self.files)
      #expect(try await router.get(note) == "old")
      await expectError(.busy) { try await router.acceptRollback(of: Self.files) }
      await expectError(.rolledBack) { _ = try await router.get(secret) }
    }
    let old = try await fixture.use(settings) { try await $0.get(note) }
    #expect(old == "old")
    try copy("documents.new", to: "documents")
    try await fixture.use(settings) { router in
      await expectError(.rolledBack) { _ = try await router.get(note) }
    }
  }

  @Test("Nothing is accepted or created where there is no store, no anchor or nothing that the router encrypts")
  func refused() async throws {
    try await fixture.use(settings) { router in
      await expectError(.unsupported) { try await router.acceptRollback(of: Self.files) }
      #expect(!FileManager.default.fileExists(atPath: fixture.path("documents")))
      await expectError(.unsupported) { try await router.acceptRollback(of: .keychain()) }
    }
    try await write("one")
    var without = settings
    without.encryption.rollbackProtection = nil
    try await fixture.use(without) { router in
      await expectError(.unsupported) { try await router.acceptRollback(of: Self.database) }
      await expectError(.unsupported) { try await router.acceptRollback(of: Self.files) }
      let values = try await [router.get(secret), router.get(note)]
      #expect(values == ["one", "one"])
    }
    var memory = settings
    memory.isInMemory = true
    try await fixture.use(memory) { router in
      await expectError(.unsupported) { try await router.acceptRollback(of: Self.files) }
    }
  }
}
