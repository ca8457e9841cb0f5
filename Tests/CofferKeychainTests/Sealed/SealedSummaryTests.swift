import CofferCore
import CofferKeychain
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// What is said of a secret without reading it is what reading it says, but for its size, which is not told.
@Suite(.serialized) struct SealedSummaryTests {
  @Test func summariesHaveTheClass() async throws {
    let place = try SealedPlace()
    let engine = try await place.open()
    let adapter = KeychainAdapter(engine: engine)
    try await adapter.set(Data("s3cret".utf8), for: "token", accessibility: .afterFirstUnlock)
    try await adapter.set(Data("1234".utf8), for: "pin")
    #expect(try await disagreements(of: engine) == [])
    let before = try await engine.summaries()
    #expect(before.map(\.size) == [nil, nil] && before.allSatisfy { $0.date != nil })
    #expect(before.map { $0.attributes.accessibility } == [nil, .afterFirstUnlock])
    try await engine.close()
    // The journal was lost: what the file says is taken in.
    try FileManager.default.removeItem(atPath: place.control + "/journal.db")
    let again = try await place.open()
    #expect(try await again.summaries().map { $0.attributes.accessibility } == [nil, .afterFirstUnlock])
    #expect(try await disagreements(of: again) == [])
    try await again.close()
  }
}
