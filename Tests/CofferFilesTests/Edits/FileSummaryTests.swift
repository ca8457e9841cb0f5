import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// The summary of a value agrees with the value that is read.
@Suite(.serialized) struct FileSummaryTests {
  @Test func summariesAgreeBeforeAndAfterAReopening() async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open()
    var attributes = ValueAttributes()
    attributes[ValueAttribute<UInt64>(applicationCode: 128)] = 3
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), Data("1".utf8), attributes), .put(KeyName("b"), Data())]), from: StoreOrigin())
    try await engine.commit(WriteBatch([.put(KeyName("b"), Data(count: 9))]), from: StoreOrigin())
    let before = try await engine.summaries()
    #expect(before.map(\.size) == [1, 9] && before.map(\.revision) == [StoreRevision(1), StoreRevision(2)])
    #expect(before[0].attributes == attributes && before.allSatisfy { $0.date != nil })
    #expect(try await disagreements(of: engine) == [])
    try await engine.close()
    let again = try await directory.open()
    #expect(try await again.summaries() == before)
    #expect(try await disagreements(of: again) == [])
    try await again.close()
  }

  @Test(arguments: [false, true]) func editsFromOutsideAreSummarizedAsTheyAreRead(whileOpen: Bool) async throws {
    let directory = try StoreDirectory()
    var engine = try await directory.open()
    var attributes = ValueAttributes()
    attributes[ValueAttribute<UInt64>(applicationCode: 128)] = 3
    try await engine.commit(
      WriteBatch([.put(KeyName("a"), Data("1".utf8), attributes), .put(KeyName("b"), Data("1".utf8), attributes)]),
      from: StoreOrigin())
    if !whileOpen { try await engine.close() }
    try directory.replace("a", "edited")
    try directory.replace("new", "made")
    if !whileOpen { engine = try await directory.open() }
    let summary = try #require(try await engine.summary(of: KeyName("a")))
    #expect(
      summary.size == 6 && summary.attributes.isEmpty && summary.revision > StoreRevision(1) && summary.date != nil)
    #expect(try await engine.summary(of: KeyName("new"))?.size == 4)
    #expect(try await engine.summary(of: KeyName("b"))?.attributes == attributes)
    #expect(try await disagreements(of: engine) == [])
    try await engine.close()
  }
}
