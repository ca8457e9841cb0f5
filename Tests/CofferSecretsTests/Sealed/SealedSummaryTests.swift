import CofferCore
import CofferFiles
import CofferSecrets
import CofferTestSupport
import Foundation
import Testing

/// Summaries, which are read without secrets, equal those of complete reads, except for the size, which is omitted.
@Suite(.serialized) struct SealedSummaryTests {
  @Test func summariesHaveTheClass() async throws {
    let fixture = try SealedFixture()
    let engine = try await fixture.open()
    let adapter = KeychainAdapter(engine: engine)
    try await adapter.set(Data("s3cret".utf8), for: "token", accessibility: .afterFirstUnlock)
    try await adapter.set(Data("1234".utf8), for: "pin")
    #expect(try await disagreements(of: engine) == [])
    let before = try await engine.summaries()
    #expect(before.map(\.size) == [nil, nil] && before.allSatisfy { $0.date != nil })
    #expect(before.map { $0.attributes.accessibility } == [nil, .afterFirstUnlock])
    try await engine.close()
    // The journal is lost, so the contents of the file are adopted.
    try FileManager.default.removeItem(atPath: fixture.control + "/journal.db")
    let again = try await fixture.open()
    #expect(try await again.summaries().map { $0.attributes.accessibility } == [nil, .afterFirstUnlock])
    #expect(try await disagreements(of: again) == [])
    try await again.close()
  }
}
