import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Engines that a test gives a router.
struct ReplacedEngineTests {
  private let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private var full: StorageError { StorageError(.diskFull, "No space is left.", advice: "Free some.") }

  @Test("A router in memory uses the engines that it is given")
  func given() async throws {
    let engine = MemoryEngine(name: "mine")
    let router = StorageRouter.inMemory { $0.engines["mine"] = engine }
    try await router.set(1, for: plain("a", in: .engine("mine")))
    try await router.set(2, for: plain("b", in: .engine("other")))
    #expect(try await engine.summaries().map(\.key) == ["a"])
    try await router.close()
    #expect(try await engine.contains("a"), "an engine of the configuration stays open")
  }

  @Test("Faults are injected into any declared store, and only there", arguments: [true, false])
  func faults(isInMemory: Bool) async throws {
    let engine = FaultInjectingEngine(MemoryEngine())
    let configuration = configured {
      $0.isInMemory = isInMemory
      $0.replace(.userDefaults(suite: "com.example.shop"), with: engine)  // the same store as `.userDefaults()`
      $0.replace(.keychain(), with: engine)
    }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(ShopCatalog())
      try await router.set("s3cret", for: .token)
      #expect(try await engine.contains("token"))
      engine.inject(.fail(full), into: .commit)
      await expectError(.diskFull) { try await router.set(.dark, for: .theme) }
      try await router.set("Ann", for: .name)
      try await router.set(.dark, for: .theme)
      #expect(try await engine.summaries().map(\.key.string) == ["theme", "token"])
      let report = await router.auditReport()
      for name in ["name", "theme", "token"] {
        let entry = try #require(report.entries.first { $0.key.name == name })
        guard case .present = entry.state else { throw TestFailure("\(entry)") }
      }
      // The `coffer` command would look into the real stores.
      let manifest = try await router.manifest()
      let known = manifest.entries.filter { $0.store != nil }.map(\.name)
      #expect(known == (isInMemory ? [] : ["name", "recent", "visits"]))
    }
    #expect(try await engine.contains("theme"), "a given engine stays open")
    #expect(!FileManager.default.fileExists(atPath: fixture.path("config")))
  }
}
