import CofferCore
import CofferEncryption
import Foundation
import Testing

/// The anchor of a store of which only some values are encrypted.
@Suite(.timeLimit(.minutes(5))) struct SelectiveRollbackTests {
  private struct Material: KeyMaterialProviding {
    func keyMaterial(for source: KeyMaterialSource) async throws -> Data { Data(7..<39) }
  }

  private let anchor = MemoryAnchor()
  private let base = MemoryEngine()

  private func selective() -> SelectiveEncryption {
    SelectiveEncryption(
      base, configuration: .anchored(anchor), only: { $0 == "secret" }, key: { .provider(Material(), named: "test") })
  }

  private func anchored() throws -> AnchorRecord { try AnchorRecord(try #require(anchor.state.withLock { $0.record })) }

  private func submit(_ text: String, to engine: SelectiveEncryption) async throws {
    _ = try await withCheckedThrowingContinuation { continuation in
      engine.submit(WriteBatch([.put("name", Data(text.utf8))]), from: StoreOrigin()) { continuation.resume(with: $0) }
    }
  }

  @Test("A plain value that is submitted without suspending is anchored, as one that is committed")
  func submitted() async throws {
    let engine = selective()
    try await engine.put("secret", "s")
    try await engine.flush()
    let before = try anchored()
    try await submit("one", to: engine)
    try await engine.flush()
    let after = try anchored()
    #expect(after.sequence > before.sequence && after.revision == base.latestRevision)
    try await engine.flush()
    #expect(try anchored() == after, "nothing was committed since")
  }

  @Test("What is committed in plain before and while the key ring is opened is anchored by the next flush")
  func beforeOpening() async throws {
    let first = selective()
    try await first.put("secret", "s")
    try await first.flush()
    let engine = selective()
    try await submit("two", to: engine)
    try await engine.put("name", "three")
    #expect(try await engine.text("secret") == "s")
    try await engine.flush()
    #expect(try anchored().revision == base.latestRevision)
    try await first.flush()
  }
}
