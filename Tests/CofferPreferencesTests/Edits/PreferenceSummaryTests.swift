import CofferCore
import CofferPreferences
import CofferSlots
import CofferTestSupport
import Foundation
import Testing

/// What is said of a preference without reading it is what reading it says.
@Suite(.serialized) struct PreferenceSummaryTests {
  private let version = ValueAttribute<UInt64>(applicationCode: 128)

  private func kind(_ key: String, in engine: SlotEngine) async throws -> UInt8? {
    try await engine.summary(of: StoreKey(key))?.attributes[ValueAttribute(code: 1)]
  }

  @Test func summariesHaveTheTypeFromItsCommitOn() async throws {
    let home = try ConfigHome()
    let engine = try await home.open()
    let adapter = UserDefaultsAdapter(engine: engine)
    try await adapter.set(.integer(7), for: "count")
    try await adapter.set(.array([.string("a")]), for: "list")
    try await engine.put("bytes", "dark")
    try await engine.put("count", "8")  // It stays a number, since it was one.
    try await engine.put("list", "no list")  // And this does not.
    var attributes = ValueAttributes()
    attributes[version] = 3
    try await engine.commit(WriteBatch([.put(StoreKey("own"), Data("x".utf8), attributes)]), from: StoreOrigin())
    #expect(try await disagreements(of: engine) == [])
    #expect(try await kind("count", in: engine) == 3)
    #expect(try await kind("list", in: engine) == 1)
    #expect(try await kind("bytes", in: engine) == 1)
    #expect(try await engine.summary(of: StoreKey("own"))?.attributes[version] == 3)
    let before = try await engine.summaries()
    #expect(before.allSatisfy { $0.date != nil })
    try await engine.close()
    let again = try await home.open()
    #expect(try await again.summaries() == before)
    #expect(try await disagreements(of: again) == [])
    try await again.close()
  }

  /// `defaults` writes other values, others' types and other types of the same bytes.
  @Test(arguments: [false, true]) func editsFromOutsideAreSummarizedAsTheyAreRead(whileOpen: Bool) async throws {
    let home = try ConfigHome()
    var engine = try await home.open()
    for key in ["same", "other", "gone"] { try await engine.put(key, "1") }
    if !whileOpen { try await engine.close() }
    var list = try home.propertyList()
    list["same"] = NSNumber(value: 1)
    list["other"] = "text"
    list["new"] = true
    list["gone"] = nil
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: home.file))
    if !whileOpen { engine = try await home.open() }
    // One by one, before anything was heard, perhaps.
    #expect(try await kind("same", in: engine) == 3)
    #expect(try await kind("other", in: engine) == 2)
    #expect(try await kind("new", in: engine) == 4)
    #expect(try await !engine.contains(StoreKey("gone")))
    try await engine.close()
    let again = try await home.open()
    #expect(try await disagreements(of: again) == [])
    #expect(try await again.summaries().map { $0.attributes[ValueAttribute<UInt8>(code: 1)] } == [4, 2, 3])
    try await again.close()
  }

  /// What is kept for a snapshot has the type that it had.
  @Test func aSnapshotKeepsTheTypesOfItsState() async throws {
    let home = try ConfigHome()
    let engine = try await home.open()
    let adapter = UserDefaultsAdapter(engine: engine)
    try await adapter.set(.integer(7), for: "k")
    try await engine.withSnapshot { snapshot in
      try await adapter.set(.string("seven"), for: "k")
      let (entry, listed) = (try await snapshot.entries([StoreKey("k")])[0], try await snapshot.allSummaries())
      #expect(entry?.value == Data("7".utf8) && entry?.attributes == listed.first?.attributes)
      #expect(entry?.attributes[ValueAttribute<UInt8>(code: 1)] == 3)
    }
    try await engine.close()
  }
}
