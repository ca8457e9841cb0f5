import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// A router and its audit over decorated engines of every kind.
@Suite(.blocking, .timeLimit(.minutes(15))) struct DecoratedRouterTests {
  let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private static let kinds = ["memory", "sqlite", "files", "preferences", "sealed"]

  private func location(_ kind: String) -> StoreLocation {
    switch kind {
    case "sqlite": .sqlite(path: fixture.path("shop.db"))
    case "files": .files(directory: fixture.path("files"))
    case "preferences": .preferences(suite: "com.example.shop")
    case "sealed": .sealed(path: fixture.path("secrets.sealed"))
    default: .memory(name: "memory")
    }
  }

  private var options: StoreOptions {
    var options = StoreOptions()
    options.passphrase = { _ in .provided { Data("correct horse".utf8) } }
    return options
  }

  @Test("Values, batches, updates, policies and the audit", arguments: kinds)
  func decorated(_ kind: String) async throws {
    try await SystemDirectories.$current.withValue(fixture.system) {
      let engine = try await location(kind).open(options)
      try await use(FaultInjectingEngine(FaultInjectingEngine(engine)), keepsSecrets: kind == "sealed")
      try await engine.close()
    }
  }

  @Test(
    "The same in a keyring",
    .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
  func decoratedKeyring() async throws {
    let keyring = try PrivateKeyring()
    var options = options
    options.keychain.address = keyring.address
    let variables = Dictionary(uniqueKeysWithValues: keyring.environment)
    let system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { variables[$0] }
    try await SystemDirectories.$current.withValue(system) { [options] in
      let engine = try await StoreLocation.keychain(service: "com.example.shop").open(options)
      try await use(FaultInjectingEngine(FaultInjectingEngine(engine)), keepsSecrets: true)
      try await engine.close()
    }
  }

  private func use(_ engine: FaultInjectingEngine, keepsSecrets: Bool) async throws {
    let configuration = configured {
      $0.engines["mine"] = engine
      $0.stateDomain = .engine("mine")
    }
    let count = plain("count", in: .engine("mine"), default: 0, sync: .automaticSmall)
    let secret = plain("pin", in: .engine("mine"), default: 0)
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(ShopCatalog(allKeys: [.key(count), .key(secret)]))
      #expect(try await router.get(count) == 0)
      try await router.batch {
        $0.set(1, for: count)
        $0.set(7, for: secret)
      }
      #expect(try await router.update(count) { $0 += 1 } == 2)
      try await router.setSyncPolicy(.never, for: count)
      // After an unknown outcome the value is read again, not taken from the cache.
      engine.inject(.failAfter(StorageError(.outcomeUnknown, "Outcome unknown.", advice: "Read it.")), into: .commit)
      await expectError(.outcomeUnknown) { try await router.set(9, for: count) }
      #expect(try await router.get(count) == 9)
    }
    try await fixture.use(configuration) { router in
      try await router.registerCatalog(ShopCatalog(allKeys: [.key(count), .key(secret)]))
      #expect(try await router.get(count) == 9)
      #expect(try await router.get(secret) == 7)
      let report = await router.auditReport()
      #expect(report.undeclared.isEmpty && report.entries.count == 2)
      for entry in report.entries {
        guard case .present(let size, _?) = entry.state else { throw TestFailure("\(entry)") }
        #expect((size == nil) == keepsSecrets)
      }
      try await router.remove(count)
      #expect(try await !router.exists(count))
      #expect(try await router.exists(secret))
    }
  }
}
