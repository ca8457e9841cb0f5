import CofferCore
import CofferFiles
import CofferSecrets
import CofferTesting
import Foundation
import Testing

/// The adapter for secrets on an engine with decorators.
@Suite(.serialized) struct DecoratedSealedTests {
  @Test func classesPassThroughDecorators() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    let adapter = KeychainAdapter(engine: FaultInjectingEngine(FaultInjectingEngine(engine)))
    try await adapter.set(Data("s3cret".utf8), for: "token", accessibility: .afterFirstUnlock)
    try await adapter.set(Data("1234".utf8), for: "pin")
    #expect(try await adapter.accessibility(of: "token") == .afterFirstUnlock)
    #expect(try await adapter.accessibility(of: "pin") == nil)
    #expect(try await adapter.accessibility(of: "absent") == nil)
    #expect(try await adapter.list() == ["pin", "token"])
    #expect(try await engine.summaries().map(\.size) == [nil, nil])
    #expect(try await adapter.engine.contains(KeyName("token")))
    try await engine.close()
    let again = try await fixture.open()
    let direct = KeychainAdapter(engine: again)
    #expect(try await direct.accessibility(of: "token") == .afterFirstUnlock)
    #expect(try await direct.get("token") == Data("s3cret".utf8))
    try await again.close()
  }
}
