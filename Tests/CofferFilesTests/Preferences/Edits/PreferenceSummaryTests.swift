import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// The summary of a preference agrees with the value that is read.
@Suite(.serialized) struct PreferenceSummaryTests {
  private let version = ValueAttribute<UInt64>(applicationCode: 128)

  private func kind(_ key: String, in engine: SlotEngine) async throws -> UInt8? {
    try await engine.summary(of: KeyName(key))?.attributes[ValueAttribute(code: 1)]
  }

  @Test func summariesHaveTheTypeFromItsCommitOn() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let adapter = UserDefaultsAdapter(engine: engine)
    try await adapter.set(.integer(7), for: "count")
    try await adapter.set(.array([.string("a")]), for: "list")
    try await engine.put("bytes", "dark")
    try await engine.put("count", "8")  // keeps the type of the existing number
    try await engine.put("list", "no list")  // is not JSON, so it becomes data
    var attributes = ValueAttributes()
    attributes[version] = 3
    try await engine.commit(WriteBatch([.put(KeyName("own"), Data("x".utf8), attributes)]), from: StoreOrigin())
    #expect(try await disagreements(of: engine) == [])
    #expect(try await kind("count", in: engine) == 3)
    #expect(try await kind("list", in: engine) == 1)
    #expect(try await kind("bytes", in: engine) == 1)
    #expect(try await engine.summary(of: KeyName("own"))?.attributes[version] == 3)
    let before = try await engine.summaries()
    #expect(before.allSatisfy { $0.date != nil })
    try await engine.close()
    let again = try await fixture.open()
    #expect(try await again.summaries() == before)
    #expect(try await disagreements(of: again) == [])
    try await again.close()
  }

  /// Another program writes other values, other types, and other types of the same bytes.
  @Test(arguments: [false, true]) func editsFromOutsideAreSummarizedAsTheyAreRead(whileOpen: Bool) async throws {
    let fixture = try PreferenceFixture()
    var engine = try await fixture.open()
    for key in ["same", "other", "gone"] { try await engine.put(key, "1") }
    if !whileOpen { try await engine.close() }
    var list = try fixture.propertyList()
    list["same"] = NSNumber(value: 1)
    list["other"] = "text"
    list["new"] = true
    list["gone"] = nil
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: fixture.file))
    if !whileOpen { engine = try await fixture.open() }
    // One key at a time, possibly before the edit was reported.
    #expect(try await kind("same", in: engine) == 3)
    #expect(try await kind("other", in: engine) == 2)
    #expect(try await kind("new", in: engine) == 4)
    #expect(try await !engine.contains(KeyName("gone")))
    try await engine.close()
    let again = try await fixture.open()
    #expect(try await disagreements(of: again) == [])
    #expect(try await again.summaries().map { $0.attributes[ValueAttribute<UInt8>(code: 1)] } == [4, 2, 3])
    try await again.close()
  }

  /// A value retained for a snapshot keeps its type.
  @Test func aSnapshotKeepsTheTypesOfItsState() async throws {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    let adapter = UserDefaultsAdapter(engine: engine)
    try await adapter.set(.integer(7), for: "k")
    try await engine.withSnapshot { snapshot in
      try await adapter.set(.string("seven"), for: "k")
      let (entry, listed) = (try await snapshot.entries([KeyName("k")])[0], try await snapshot.allSummaries())
      #expect(entry?.value == Data("7".utf8) && entry?.attributes == listed.first?.attributes)
      #expect(entry?.attributes[ValueAttribute<UInt8>(code: 1)] == 3)
    }
    try await engine.close()
  }
}
