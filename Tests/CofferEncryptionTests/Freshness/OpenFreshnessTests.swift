import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// What happens to the key ring and to the record of freshness while stores with an anchor are open.
@Suite(.timeLimit(.minutes(5))) struct OpenFreshnessTests {
  private let base = MemoryEngine()
  private let anchor = MemoryAnchor()

  @Test("No change of the key ring is made on an older one that was put back")
  func olderRing() async throws {
    let engine = try await base.anchored(anchor)
    try await engine.put("key", "one")
    let old = try #require(try await base.record(.keyRing)?.content)
    _ = try await engine.rotate().result()
    let planted: [WriteBatch.Operation] = [.putRecord(.keyRing, old), .putRecord(.keyRingCopy, old)]
    try await base.commit(WriteBatch(planted), from: StoreOrigin())
    for change in ["rotate", "shred", "encrypt", "decrypt"] {
      let error = try await storageError {
        switch change {
        case "rotate": _ = try await engine.rotate()
        case "shred": try await engine.shred()
        case "encrypt": _ = try await engine.encryptPlainValues()
        default: _ = try await engine.decrypt()
        }
      }
      #expect(error.code == .rolledBack && error.message.contains("replaced by an older one"), "\(change): \(error)")
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
    let lease = SystemRecord.Name("encryption.rotation" as KeyName)
    let engine = try await base.anchored(anchor)
    let (late, later) = (try await base.anchored(anchor), try await base.anchored(anchor))
    try await late.put("key", "one")
    try await later.put("key", "two")
    try await base.commit(WriteBatch([.putRecord(lease, Data([1]))]), from: StoreOrigin())
    _ = try await engine.decrypt().result()
    let revision = base.latestRevision
    #expect(try await storageError { try await late.flush() }.code == .notFound)
    #expect(base.latestRevision == revision)
    for name in [SystemRecord.Name.freshness, lease] { #expect(try await base.record(name) == nil) }
    var configuration = EncryptedEngine.Configuration.anchored(anchor)
    configuration.acceptsUnfinished = true
    let again = try await EncryptedEngine.open(
      base, ifMissing: .createForPlainValues, configuration: configuration
    ) { _ in try .forTests() }
    _ = try await again.encryptPlainValues().result()
    try await again.flush()
    let record = try await base.record(.freshness)
    #expect(try await storageError { try await later.flush() }.code == .notFound)
    #expect(try await base.record(.freshness) == record)
    #expect(try await base.anchored(anchor).text("key") == "two")
  }

  @Test("A new key ring removes the record that an earlier one has left")
  func leftover() async throws {
    try await base.commit(WriteBatch([.putRecord(.freshness, Data([1]))]), from: StoreOrigin())
    try await base.anchored(anchor).put("key", "one")
    #expect(try await base.anchored(anchor).text("key") == "one")
  }
}
