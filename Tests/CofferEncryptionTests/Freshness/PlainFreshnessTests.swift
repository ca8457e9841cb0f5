import CofferCore
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

/// Stores in plain where an anchor knows an encrypted one.
@Suite(.timeLimit(.minutes(10))) struct PlainFreshnessTests {
  @Test("A store with an anchor is not decrypted without it, as the anchor would refuse the plain store")
  func decryptedWithoutAnchor() async throws {
    let base = MemoryEngine()
    let anchored = try await base.anchored(MemoryAnchor())
    try await anchored.put("key", "one")
    try await anchored.flush()
    let engine = try await base.encrypted()
    let error = try await storageError { _ = try await engine.decrypt() }
    #expect(
      error.code == .unsupported && error.advice.contains("EncryptedEngine.Configuration.rollbackProtection"),
      "\(error)")
    #expect(engine.keyRing.phase == .complete)
    #expect(try await engine.text("key") == "one")
  }

  @Test("A store in plain whose anchor knows an encrypted one is encrypted when somebody accepts it")
  func accepted() async throws {
    let directory = try TemporaryDirectory()
    try Data(1..<33).write(to: URL(fileURLWithPath: directory.path("key")))
    try #require(chmod(directory.path("key"), 0o600) == 0)
    let (key, anchor, base) = (RootKeySource.file(directory.path("key")), MemoryAnchor(), MemoryEngine())
    _ = try await MemoryEngine().anchored(anchor)
    try await base.commit(WriteBatch([.put("key", Data("one".utf8))]), from: StoreOrigin())
    let before = anchor.state.withLock { $0.record }
    var configuration = EncryptedEngine.Configuration.anchored(anchor)
    let refused = try await storageError { [configuration] in
      _ = try await EncryptedEngine.encrypt(base, key: key, configuration: configuration)
    }
    #expect(refused.code == .rolledBack && refused.advice.contains("encrypt(acceptingRollback:)"), "\(refused)")
    #expect(anchor.state.withLock { $0.record } == before)
    let (engine, rotation) = try await EncryptedEngine.encrypt(
      base, key: key, configuration: configuration, acceptingRollback: true)
    let report = try await rotation.result()
    #expect(report.isComplete)
    #expect(try await engine.text("key") == "one")
    try await engine.flush()
    #expect(anchor.state.withLock { $0.record } != before)
    let again = try await EncryptedEngine.open(base, key: key, configuration: configuration)
    #expect(try await again.text("key") == "one")
    configuration.rollbackProtection = nil
    let error = try await storageError { [configuration] in
      _ = try await EncryptedEngine.encrypt(base, key: key, configuration: configuration, acceptingRollback: true)
    }
    #expect(error.code == .unsupported, "\(error)")
  }
}
