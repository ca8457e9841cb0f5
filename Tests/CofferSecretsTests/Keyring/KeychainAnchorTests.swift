import CofferCore
import CofferEncryption
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSecrets

#if SecretService && os(Linux)
  @Suite(
    "An anchor in a real keyring", .blocking, .serialized,
    .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct KeychainAnchorTests {
    private func open(_ fixture: KeyringFixture, _ base: any StorageEngine) async throws -> EncryptedEngine {
      let anchor = KeychainAnchor(service: service, configuration: fixture.configuration())
      var configuration = EncryptedEngine.Configuration()
      configuration.rollbackProtection = RollbackProtection(
        anchor: anchor, interval: .seconds(86_400), timeout: .seconds(60))
      return try await fixture.use { [configuration] in
        try await EncryptedEngine.open(base, configuration: configuration) { _ in
          try RootKey(
            from: SecretBytes(copying: sha256(Data("root".utf8))),
            RootKeyDerivation(.keyMaterial, salt: Data(repeating: 0, count: RootKeyDerivation.saltCount)))
        }
      }
    }

    @Test("An older store is noticed, a locked keyring is unavailable, and a removed item is reported")
    func noticed() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let base = MemoryEngine()
      let engine = try await open(fixture, base)
      let old = try #require(try await base.record(.rollback)?.content)
      try await engine.commit(WriteBatch([.put("key", Data("one".utf8))]), from: StoreOrigin())
      try await fixture.use { try await engine.flush() }
      _ = try await open(fixture, base)
      let new = try #require(try await base.record(.rollback)?.content)
      try await base.commit(WriteBatch([.putRecord(.rollback, old)]), from: StoreOrigin())
      let error = await expectStorageError(.rolledBack, contains: "keychain:") { _ = try await open(fixture, base) }
      #expect(error?.message.contains("older copy") == true)
      try await base.commit(WriteBatch([.putRecord(.rollback, new)]), from: StoreOrigin())
      try fixture.keyring.lock()
      try await expectError(.unavailable) { _ = try await open(fixture, base) }
      try fixture.keyring.unlock("pw")
      _ = try await open(fixture, base)
      let keychain = try await fixture.open()
      try await keychain.commit(WriteBatch([.delete("encryption-anchor")]), from: StoreOrigin())
      try await expectError(.notFound) { _ = try await open(fixture, base) }
    }

    @Test("A keyring that is locked in the middle of a rotation delays nothing but the anchor")
    func lockedDuringRotation() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let base = LockingEngine(MemoryEngine()) { try fixture.keyring.lock() }
      let engine = try await open(fixture, base)
      let names = try (0..<1_000).map { try KeyName("key \($0)") }
      try await engine.commit(WriteBatch(names.map { .put($0, Data($0.string.utf8)) }), from: StoreOrigin())
      base.armed.withLock { $0 = 3 }
      let report = try await fixture.use { try await engine.rotate().result() }
      #expect(report.isComplete && report.changedValues == names.count)
      #expect(base.armed.withLock { $0 } == 0)
      try await expectError(.unavailable) { try await fixture.use { try await engine.flush() } }
      for name in names { #expect(try await engine.entry(name)?.value == Data(name.string.utf8)) }
      try await expectError(.unavailable) { _ = try await open(fixture, base) }
      try fixture.keyring.unlock("pw")
      try await fixture.use { try await engine.flush() }
      let second = try await open(fixture, base)
      #expect(try await second.entry("key 999")?.value == Data("key 999".utf8))
    }
  }

  /// Locks a keyring before a commit.
  private final class LockingEngine: EngineDecorator {
    let base: any StorageEngine
    /// The number of commits until then; 0 for never.
    let armed = Locked(0)
    private let lock: @Sendable () throws -> Void

    init(_ base: any StorageEngine, lock: @escaping @Sendable () throws -> Void) {
      (self.base, self.lock) = (base, lock)
    }

    func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
      let isNow = armed.withLock { armed in
        guard armed > 0 else { return false }
        armed -= 1
        return armed == 0
      }
      if isNow { try lock() }
      return try await base.commit(batch, from: origin)
    }
  }
#endif
