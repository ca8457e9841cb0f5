import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// What happens to the key ring and to the record of the rollback protection while stores with an anchor are open.
@Suite(.timeLimit(.minutes(5))) struct OpenRingRollbackTests {
  private let base = MemoryEngine()
  private let anchor = MemoryAnchor()

  @Test("No change of the key ring is made on an older one that was put back")
  func olderRing() async throws {
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    let old = try #require(try await base.record(.keyRing)?.content)
    _ = try await engine.rotate().result()
    try await engine.flush()
    let planted: [WriteBatch.Operation] = [.putRecord(.keyRing, old), .putRecord(.keyRingCopy, old)]
    try await base.commit(WriteBatch(planted), from: StoreOrigin())
    for change in ["rotate", "shred"] {
      let error = try await storageError {
        if change == "rotate" { _ = try await engine.rotate() } else { try await engine.shred() }
      }
      #expect(error.code == .rolledBack && error.message.contains("replaced by an older one"), "\(change): \(error)")
    }
    let configuration = EncryptedEngine.Configuration.anchored(anchor)
    for goal in [KeyRotation.Goal.encryption, .decryption] {
      let error = try await storageError {
        _ =
          goal == .encryption
          ? try await EncryptedEngine.encrypt(base, configuration: configuration) { _ in try .forTests() }
          : try await EncryptedEngine.decrypt(base, configuration: configuration) { _ in try .forTests() }
      }
      #expect(error.code == .rolledBack, "\(goal): \(error)")
    }
    for name in SystemRecord.Name.keyRings {
      #expect(try await base.record(name)?.content == old)
    }
  }

  @Test("The change of a key ring is anchored by itself, without a value that is committed")
  func idleRotation() async throws {
    var configuration = EncryptedEngine.Configuration.anchored(anchor)
    configuration.rollbackProtection?.interval = .milliseconds(20)
    let engine = try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
    _ = try await engine.rotate().result()
    let ring = try #require(try await KeyRingStore.inspect(base))
    try await eventually("the anchor is updated") {
      try AnchorRecord(try #require(anchor.state.withLock { $0.record })).generation >= ring.generation
    }
    try await engine.close()
  }

  @Test("A late update after another process has decrypted the store writes nothing, also under a later ring")
  func lateUpdate() async throws {
    let configuration = EncryptedEngine.Configuration.anchored(anchor)
    let (late, later) = (try await base.anchored(anchor), try await base.anchored(anchor))
    try await late.put("key", "one")
    try await later.put("key", "two")
    _ = try await EncryptedEngine.decrypt(base, configuration: configuration) { _ in try .forTests() }.result()
    let revision = base.latestRevision
    #expect(try await storageError { try await late.flush() }.code == .notFound)
    #expect(base.latestRevision == revision)
    #expect(try await base.record(.rollback) == nil)
    _ = try await EncryptedEngine.encrypt(base, configuration: configuration, acceptingRollback: true) { _ in
      try .forTests()
    }.result()
    let record = try await base.record(.rollback)
    #expect(try await storageError { try await later.flush() }.code == .notFound)
    #expect(try await base.record(.rollback) == record)
    #expect(try await base.anchored(anchor).text("key") == "two")
  }
}
