import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// The rows of an audit for families, and for many values that no catalog declares.
@Suite(.serialized, .timeLimit(.minutes(15))) struct AuditFoldingTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  /// Returns the report of a store with one declared key and undeclared values of these names, of one byte each.
  private func report(_ names: [String], folds: Bool = true) async throws -> AuditReport {
    let engine = MemoryEngine(name: "shop")
    let values = try names.map { WriteBatch.Operation.put(try KeyName($0), Data([0x31])) }
    try await engine.commit(WriteBatch(values), from: StoreOrigin())
    return try await fixture.use(configured { $0.engines["shop"] = engine }) { router in
      try await router.registerCatalog(ShopCatalog(allKeys: [.key(plain("declared", in: .engine("shop")))]))
      return await router.auditReport(foldsUndeclared: folds)
    }
  }

  private func rows(_ names: [String]) async throws -> [String] {
    try await report(names).undeclared.map { $0.count == 1 ? $0.name : "\($0.name)… \($0.count)" }
  }

  // Requirement 4.1
  @Test("Names of one form are one row, and others beside them keep their own")
  func folding() async throws {
    let cache = (0..<1_000).map { "cache/item-\($0)" }
    let words = ["theme", "user.name", "user.mail", "\0", "../x"]
    #expect(try await rows(words) == words.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    #expect(try await rows(cache) == ["cache/item-… 1000"])
    #expect(
      try await rows(cache + words) == ["\0", "../x", "cache/item-… 1000", "theme", "user.mail", "user.name"])
    let parts = (0..<3).flatMap { part in (0..<20).map { "shop:\(part):\($0)" } }
    #expect(try await rows(parts) == ["shop:0:… 20", "shop:1:… 20", "shop:2:… 20"])
    let orders = (0..<1_000).map { _ in "orders/\(UUID().uuidString)" }
    #expect(try await rows(orders + ["token"]) == ["orders/… 1000", "token"])
    // Names are those of the bytes: the two Unicode forms of one are in one row, which has no separator.
    #expect(try await rows((0..<20).map { "e\u{301}\($0)" } + (0..<20).map { "\u{E9}\($0)" }) == ["… 40"])
  }

  // Requirement 4.1
  @Test("A report is bounded whatever the names are; counts and sizes add up")
  func bounds() async throws {
    var generator = SeededGenerator(seed: 7)
    let separators = ["/", ".", ":", "-", "_", "", "é"]
    for round in 0..<20 {
      let names = Set(
        (0..<500).map { _ in
          (0..<Int.random(in: 1...6, using: &generator)).map { _ in
            "\(Int.random(in: 0...(1 << round), using: &generator))" + separators.randomElement(using: &generator)!
          }.joined()
        })
      let report = try await report(Array(names))
      #expect(report.undeclared.count <= 100)
      #expect(report.undeclared.reduce(0) { $0 + $1.count } == names.count)
      #expect(report.undeclared.reduce(0) { $0 + ($1.size ?? 0) } == names.count)
      for row in report.undeclared {
        #expect(row.examples.allSatisfy { $0.utf8.starts(with: row.name.utf8) })
        #expect(row.examples.isEmpty == (row.count == 1))
      }
      #expect(try await self.report(Array(names), folds: false).undeclared.count == names.count)
    }
  }

  @Test("The page of 100,000 undeclared values is small")
  func page() async throws {
    let report = try await report((0..<100_000).map { "cache/\($0 % 7)/\($0)" } + ["<b>"])
    let page = report.html
    #expect(page.count < 20_000)
    let text = String(decoding: page, as: UTF8.self)
    #expect(
      text.contains("100,001 undeclared values") && text.contains("cache/3/</strong>…") && text.contains("&lt;b&gt;"))
  }

  // Requirement 4.1
  @Test("A family is one row with the number and the size of its values")
  func families() async throws {
    let drafts = KeyFamily<Int, String>("drafts", in: .database(), owner: "Editor", about: "Unsent <messages>.")
    let empty = KeyFamily<UUID, String>("empty", in: .database(), owner: "Editor", about: "None.", sync: .manual)
    try await fixture.use { router in
      for number in 0..<1_500 { try await router.set("x", for: drafts[number], durability: .relaxed) }
      try await router.set(1, for: plain("drafts", in: .database()))
      try await router.registerCatalog(ShopCatalog(allKeys: [.family(drafts), .family(empty), .key(.name)]))
      let report = await router.auditReport()
      #expect(report.entries.map(\.key.name) == ["drafts/", "empty/", "name"])
      #expect(report.entries.map(\.key.family) == ["Int", "UUID", nil])
      guard case .members(1_500, 4_500?, .some) = report.entries[0].state else { throw TestFailure("\(report)") }
      #expect(report.entries[1].state == .absent && report.undeclared.map(\.name) == ["drafts"])
      let page = String(decoding: report.html, as: UTF8.self)
      #expect(page.contains("1,500 values") && page.contains("family by Int") && page.contains("&lt;messages&gt;"))
      let manifest = try await router.manifest()
      #expect(try StorageManifest(decoding: manifest.encoded) == manifest)
      #expect(manifest.entries.map(\.family) == ["Int", "UUID", nil])
    }
  }
}
