import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(15))) struct AuditTests {
  let fixture: RouterFixture
  private let now = Date(timeIntervalSince1970: 1_790_000_000)

  init() throws { fixture = try RouterFixture() }

  /// A catalog without a key in the keychain, which would use the desktop's keyring.
  private var catalog: ShopCatalog {
    ShopCatalog(
      allKeys: [
        .key(.theme), .key(.name), .key(.visits), .key(StorageKeys.recent),
        .key(plain("<b>&\"'", about: "A <script>alert(1)</script>.")), .key(plain("phone", availability: .phoneOnly)),
      ])
  }

  @Test("A report of an application that has stored nothing creates no files")
  func untouched() async throws {
    try await fixture.use { router in
      try await router.registerCatalog(catalog)
      let report = await router.auditReport(at: now)
      #expect(report.entries.map(\.key.name) == ["<b>&\"'", "name", "phone", "recent", "theme", "visits"])
      for entry in report.entries where entry.key.name != "phone" { #expect(entry.state == .absent, "\(entry)") }
      #expect(report.undeclared.isEmpty && report.application == "com.example.shop" && report.catalogs == ["Shop"])
      guard case .unavailable(let reason) = report.entries[2].state else { throw TestFailure("\(report.entries[2])") }
      #expect(reason.contains("platform"))
    }
    #expect((try? FileManager.default.subpathsOfDirectory(atPath: fixture.path("home")))?.isEmpty != false)
    #expect(!FileManager.default.fileExists(atPath: fixture.path("documents")))
    #expect(!FileManager.default.fileExists(atPath: fixture.path("data/com.example.shop")))
  }

  // Requirements 1.66, 4.1
  @Test("The report has the store, size and last change of each value, and undeclared values")
  func stored() async throws {
    let before = Date(timeIntervalSinceNow: -1)
    try await fixture.use { router in
      try await router.set("Bo", for: plain("value", String.self, in: .database()))
      try await router.set("Ann", for: .name)
      try await router.set(.dark, for: .theme)
      try await router.set(["mugs"], for: StorageKeys.recent)
    }
    try await fixture.use { router in
      try await router.registerCatalog(catalog)
      let report = await router.auditReport(at: now)
      for (name, size) in [("name", 5), ("theme", 4)] {
        let entry = try #require(report.entries.first { $0.key.name == name })
        guard case .present(size, let changed?) = entry.state else { throw TestFailure("\(entry)") }
        #expect(changed > before && changed < Date(timeIntervalSinceNow: 1))
      }
      let name = try #require(report.entries.first { $0.key.name == "name" })
      #expect(name.store == "sqlite:" + fixture.path("data/com.example.shop/coffer.db"))
      #expect(report.undeclared.map(\.name) == ["value"] && report.undeclared[0].store == name.store)
      #expect(report.undeclared[0].size == 4)
      let again = try JSONDecoder.iso.decode(AuditReport.self, from: report.encoded)
      #expect(again.entries.map(\.key) == report.entries.map(\.key) && again.undeclared == report.undeclared)
    }
  }

  // Requirement 4.1
  @Test("The page escapes text and loads no resources")
  func page() async throws {
    try await fixture.use { router in
      try await router.registerCatalog(catalog)
      try await router.set("s3cret", for: .name)
      let page = String(decoding: await router.auditReport(at: now).html, as: UTF8.self)
      #expect(page.hasPrefix("<!doctype html>") && page.hasSuffix("</html>\n"))
      #expect(page.contains("&lt;b&gt;&amp;&quot;&#39;") && page.contains("A &lt;script&gt;"))
      #expect(!page.contains("<script") && !page.contains("s3cret") && !page.contains("http"))
      #expect(page.contains("prefers-color-scheme:dark"))
    }
  }

  @Test("An incomplete report has a remark")
  func remarks() async throws {
    var configuration = StorageConfiguration()
    let engine = MemoryEngine(name: "memory")
    configuration.engines["memory"] = engine
    configuration.stateDomain = .engine("memory")
    let damaged = WriteBatch([.putRecord(try SystemRecord.Name("router/sync-policies"), Data("{".utf8))])
    try await engine.commit(damaged, from: StoreOrigin())
    let report = await StorageRouter(configuration: configuration).auditReport(at: now)
    #expect(report.remarks.count == 1 && report.remarks[0].contains("sync policies could not be read"))
    #expect(String(decoding: report.html, as: UTF8.self).contains("sync policies could not be read"))
    let whole = await StorageRouter.inMemory().auditReport(at: now)
    #expect(whole.remarks.isEmpty)
  }

  // Requirement 4.1
  @Test("The manifest has the declarations of all keys and their stores")
  func manifest() async throws {
    try await fixture.use { router in
      try await router.registerCatalog(ShopCatalog())
      let manifest = try await router.manifest()
      #expect(try StorageManifest(decoding: manifest.encoded) == manifest)
      let stores = manifest.entries.map { "\($0.name) \($0.store ?? "")" }
      #expect(
        stores == [
          "name sqlite:" + fixture.path("data/com.example.shop/coffer.db"),
          "recent file:" + fixture.path("documents/com.example.shop"), "theme prefs:com.example.shop",
          "token keychain:com.example.shop", "visits sqlite:" + fixture.path("data/com.example.shop/coffer.db"),
        ])
      #expect(throws: StorageError.self) { try StorageManifest(decoding: Data("{}".utf8)) }
      let newer = Data(#"{"format":3}"#.utf8)
      await expectError(.newerFormat) { _ = try StorageManifest(decoding: newer) }
    }
  }
}

extension JSONDecoder {
  fileprivate static var iso: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return decoder
  }
}
