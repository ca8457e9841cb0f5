import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Commits whose connection is cut at each message, in both directions: each is applied once, and its caller is told
/// the right revision.
@Suite("PostgreSQL: commits cut at each message", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct CutCommitTests {
  @Test("A commit is applied once wherever it is cut", arguments: [false, true], LinkProxy.Way.allCases)
  func cut(hasPrecondition: Bool, way: LinkProxy.Way) async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    let link = try LinkProxy(to: server.port)
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    let engine = try await PostgreSQLEngine.open(
      "postgresql://postgres@127.0.0.1:\(link.port)/\(database)?store=test", configuration: configuration)
    let first = WriteBatch([.put("the key", Data(repeating: 1, count: 100))])
    var seen = try await engine.commit(first, from: StoreOrigin())
    /// Commits, and returns what of it was recorded.
    @discardableResult
    func commit(_ transaction: TransactionID = TransactionID()) async throws -> [UInt8] {
      let value = Data((0..<100).map { _ in UInt8.random(in: 0...255) })
      let require = hasPrecondition ? [WriteBatch.Operation.require("the key", seen.revision)] : []
      let commit = try await engine.commit(
        WriteBatch(require + [.put("the key", value)], transaction: transaction), from: StoreOrigin())
      let recorded = link.takeRecorded()
      #expect(commit.revision == seen.revision.next)
      #expect(try await engine.entry("the key")?.value == value)
      seen = commit
      return recorded
    }
    try await commit()
    link.record(way, sign: "the key")
    let recorded = try await commit()
    let ends = Self.ends(of: recorded)
    try #require(ends.count > 10 && ends.last == recorded.count)
    var transactions: [TransactionID] = []
    var cuts = 0
    for end in ends {
      // Also in the middle of a message.
      for bytes in Set([end, max(1, end - 3)]) {
        try await commit()  // Prepares the statements of a new connection.
        link.cut(way, after: bytes, sign: "the key")
        transactions.append(TransactionID())
        try await commit(transactions[transactions.count - 1])
        cuts += link.takeBackCut() ? 1 : 0
      }
    }
    #expect(cuts == transactions.count)
    let names = transactions.map { "'\\x\($0.uuidString.replacing("-", with: ""))'" }.joined(separator: ",")
    let counts = try await server.psql(
      "SELECT count(*), count(DISTINCT transaction) FROM coffer.journal WHERE transaction IN (\(names))",
      database: database)
    #expect(counts == "\(transactions.count)|\(transactions.count)")
    try await engine.close()
  }

  /// The positions after each message of the protocol: a letter, and a length that counts itself.
  private static func ends(of bytes: [UInt8]) -> [Int] {
    var ends: [Int] = []
    var position = 0
    while position + 5 <= bytes.count {
      position += 1 + bytes[(position + 1)..<(position + 5)].reduce(0) { $0 << 8 | Int($1) }
      ends.append(position)
    }
    return ends
  }
}
