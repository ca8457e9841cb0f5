import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Anchors that fail, and anchors that a later version has written.
@Suite(.timeLimit(.minutes(5))) struct AnchorFailureTests {
  private let anchor = MemoryAnchor()

  private func anchored() throws -> AnchorRecord { try AnchorRecord(try #require(anchor.state.withLock { $0.record })) }

  @Test("An update that fails is told, and repeated without a further commit")
  func repeated() async throws {
    let failures = Locked<[StoreEvent.Failure]>([])
    let base = MemoryEngine(
      events: CofferEvents { event in
        if case .failed(let failure) = event.kind { failures.withLock { $0.append(failure) } }
      })
    var configuration = EncryptedEngine.Configuration.anchored(anchor)
    configuration.rollbackProtection?.interval = .milliseconds(20)
    let engine = try await EncryptedEngine.open(base, configuration: configuration) { _ in try .forTests() }
    let before = try anchored().sequence
    anchor.state.withLock { $0.isFailing = true }
    try await engine.put("key", "one")
    try await eventually("the failure is told") { !failures.withLock { $0.isEmpty } }
    #expect(failures.withLock { $0.allSatisfy { $0.operation == .anchoring && $0.code == .unavailable } })
    anchor.state.withLock { $0.isFailing = false }
    try await eventually("the anchor is updated") { try anchored().sequence > before }
    try await engine.close()
  }

  @Test("The anchor of a later version is not overwritten by accepting")
  func laterFormat() async throws {
    let base = MemoryEngine()
    try await base.anchored(anchor).put("key", "one")
    let body = Data("COFFANCR".utf8) + [2] + Data(repeating: 0, count: 80)
    let later = body + sha256(body)
    anchor.state.withLock { $0.record = later }
    for accepts in [false, true] {
      let error = try await storageError { _ = try await base.anchored(anchor, accepts: accepts) }
      #expect(error.code == .newerFormat, "\(error)")
    }
    #expect(anchor.state.withLock { $0.record } == later)
  }

  @Test("A store without a key ring is refused if its anchor knows one, also where single keys are encrypted")
  func selective() async throws {
    let base = MemoryEngine()
    try await base.anchored(anchor).put("secret", "one")
    let plain = MemoryEngine()
    try await plain.put("secret", "planted")
    for store in [ReadOnlyEngine(MemoryEngine()), ReadOnlyEngine(plain), plain] as [any StorageEngine] {
      let selective = selective(store, anchor)
      let error = try await storageError { _ = try await selective.engineOfRing() }
      #expect(error.code == .rolledBack && error.message.contains("no key ring"), "\(error)")
      #expect(try await storageError { _ = try await selective.openIfPresent() }.code == .rolledBack)
    }
    // One that was never anchored.
    let never = selective(plain, MemoryAnchor())
    #expect(try await never.engineOfRing() == nil)
    let opened = try await never.openIfPresent()
    #expect(opened == nil)
  }

  private func selective(_ base: any StorageEngine, _ anchor: MemoryAnchor) -> SelectiveEncryption {
    SelectiveEncryption(
      base, configuration: .anchored(anchor), only: { $0 == "secret" }, key: { .file("/nowhere/key") })
  }
}
