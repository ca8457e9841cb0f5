import Coffer
import CofferTestSupport
import Foundation
import Testing

/// Tests of `coffer schema`.
@Suite("schema", .timeLimit(.minutes(5)))
struct SchemaListTests {
  @Test("The versions of values are counted, and a new value keeps the version")
  func versions() async throws {
    let sandbox = try Sandbox()
    let engine = try await StoreLocation(sandbox.path("app.db")).open(StoreOptions())
    var schema = StoreSchema()
    try schema.declare(prefix: "n/", try ValueSchema<String>("numbers", version: 3, unversioned: 3))
    let store = try TypedStore(engine: engine, schema: schema)
    try await store.saveAll((0..<150).map { (try KeyName("n/\($0)"), "v\($0)") }, durability: .relaxed)
    try await engine.close()
    for unmarked in [0, 1] {
      let listed = try await sandbox.coffer("schema", "app.db", "--json").json()
      let versions = try #require(listed["versions"] as? [[String: Any]])
      #expect(versions.count == 1 && versions[0]["schema"] as? String == "numbers")
      #expect(versions[0]["version"] as? Int == 3 && versions[0]["values"] as? Int == 150)
      #expect(listed["unmarked"] as? Int == unmarked)
      try await sandbox.coffer("set", "n/7", "70", "--store", "app.db")
      try await sandbox.coffer("set", "other", "1", "--store", "app.db")
    }
  }
}
