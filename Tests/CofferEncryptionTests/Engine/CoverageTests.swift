import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Which values of a store are encrypted: all, or those of declared keys. Its key ring states it.
@Suite("Coverage of an encrypted store") struct CoverageTests {
  private static let isDeclared: @Sendable (KeyName) -> Bool = { $0.hasPrefix("secret/") }
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Returns a store with a plain value and an encrypted one.
  private func mixed(_ kind: TestedStore = .memory) async throws -> any StorageEngine {
    let base = try await kind.open(in: directory.url)
    try await base.put("theme", "dark")
    let engine = try await base.encrypted(only: Self.isDeclared)
    try await engine.put("secret/a", "1")
    #expect(!engine.encryptsAll)
    return base
  }

  private func tool(_ base: any StorageEngine) async throws -> EncryptedEngine {
    var configuration = EncryptedEngine.Configuration()
    configuration.acceptsDeclared = true
    return try await EncryptedEngine.open(base, ifMissing: .refuse, configuration: configuration) { _ in
      try .forTests()
    }
  }

  @Test(arguments: TestedStore.with(.plain)) func isStatedWithoutTheKey(_ kind: TestedStore) async throws {
    let base = try await mixed(kind)
    let header = try #require(try await KeyRingStore.inspect(base))
    #expect(header.coverage == .declared && header.generation == 1 && header.derivation.method == .keyMaterial)
    let other = MemoryEngine()
    #expect(try await KeyRingStore.inspect(other) == nil)
    #expect(try await other.encrypted().encryptsAll)
    #expect(try await KeyRingStore.inspect(other)?.coverage == .all)
    #expect(try await KeyRingStore.inspect(ReadOnlyEngine(other))?.coverage == .all)
    try await base.close()
  }

  @Test func aStoreOfDeclaredKeysNeedsTheirDeclaration() async throws {
    let base = try await mixed()
    let revision = base.latestRevision
    let error = await expectStorageError(.unsupported, contains: "declared keys", at: "memory:") {
      _ = try await base.encrypted()
    }
    #expect(error?.advice.contains("EncryptedEngine.encrypt") == true)
    #expect(base.latestRevision == revision)
    #expect(try await base.encrypted(only: Self.isDeclared).text("secret/a") == "1")
  }

  /// The mark decides. A planted plain value is therefore accepted by a tool, and refused by the program.
  @Test func aToolOpensItWithoutDeclarations() async throws {
    let base = try await mixed()
    let tool = try await tool(base)
    #expect(!tool.encryptsAll)
    #expect(try await tool.summaries().map(\.key) == ["secret/a", "theme"])
    #expect(try await tool.text("theme") == "dark")
    #expect(try await tool.text("secret/a") == "1")
    try await base.put("secret/planted", "2")
    #expect(try await tool.text("secret/planted") == "2")
    let program = try await base.encrypted(only: Self.isDeclared)
    await expectStorageError(.notEncrypted) { _ = try await program.entry("secret/planted") }
    // What a tool writes is encrypted, and the program reads it.
    try await tool.put("theme", "light")
    #expect(try await base.text("theme") != "light")
    #expect(try await program.text("theme") == "light")
    try await base.put("font", "large")
    let report = try await tool.rotate().result()
    #expect(report.isComplete && report.changedValues == 2 && report.removedKeys.count == 1)
    #expect(try await base.text("font") == "large")
    #expect(try await program.text("secret/a") == "1")
  }

  @Test func aDeclarationDoesNotWeakenAStoreThatEncryptsAll() async throws {
    let base = MemoryEngine()
    _ = try await base.encrypted(.hidden)
    let engine = try await base.encrypted(only: Self.isDeclared)
    #expect(engine.encryptsAll && engine.capabilities.contains(.listing))
    try await engine.put("theme", "dark")
    #expect(try await base.entry("theme") == nil)
    #expect(try await engine.text("theme") == "dark")
    try await base.plant("planted", "1")
    #expect(try await engine.entry("planted") == nil)
  }

  /// Encrypting everything turns the store into one that encrypts all; open handles follow.
  @Test func encryptsTheRest() async throws {
    let file = directory.url.appendingPathComponent("key")
    try Data("the key material of the tests, 32".utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    let key = RootKeySource.file(file)
    let other = MemoryEngine()
    try await other.put("theme", "dark")
    let declared = EncryptedEngine.Configuration(only: Self.isDeclared)
    let open = try await EncryptedEngine.open(other, key: key, configuration: declared)
    try await open.put("secret/a", "1")
    await expectStorageError(.unsupported) { _ = try await EncryptedEngine.open(other, key: key) }
    let report = try await EncryptedEngine.encrypt(other, key: key).result()
    #expect(report.isComplete && report.changedValues == 1)
    #expect(try await KeyRingStore.inspect(other)?.coverage == .all)
    // The handle that declares keys encrypts everything from now on.
    try await open.put("font", "large")
    #expect(open.encryptsAll)
    #expect(try await other.text("font") != "large")
    #expect(try await open.text("theme") == "dark")
    let again = try await EncryptedEngine.open(other, key: key)
    #expect(try await again.text("secret/a") == "1")
  }

  /// What was in plain in a store that was encrypted is no value of its own, as far as the store can tell.
  @Test func plantedValuesAreCounted() async throws {
    let base = MemoryEngine()
    let key = RootKeySource.passphrase(.provided { Data("words".utf8) }, cost: ScryptCost(logN: 10, r: 1, p: 1))
    try await base.put("first", "1")
    #expect(try await EncryptedEngine.encrypt(base, key: key).result().unexpectedValues == 0)
    try await base.plant("planted", "2")
    let report = try await EncryptedEngine.encrypt(base, key: key).result()
    #expect(report.unexpectedValues == 1 && report.changedValues == 1 && report.isComplete)
    #expect(try await EncryptedEngine.open(base, key: key).text("planted") == "2")
  }

  /// A ring that was being encrypted completely when the process ended is one that encrypts all.
  @Test func anInterruptedEncryptionGoesOn() async throws {
    let base = try await mixed()
    try await base.changeRing {
      $0.coverage = .all
      $0.phase = .encrypting
    }
    let report = try await base.encrypting()
    #expect(report.isComplete && report.changedValues == 1)
    let engine = try await base.encrypted()
    #expect(try await engine.text("theme") == "dark")
    await expectStorageError(.notEncrypted) {
      try await base.plant("planted", "1")
      _ = try await engine.entry("planted")
    }
  }
}
