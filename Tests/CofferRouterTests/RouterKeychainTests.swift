import CofferCore
import CofferFileSystem
import CofferTestSupport
import CofferTestTraits
import CofferVault
import Foundation
import Testing

/// Secrets through a router and the helper, in a real keyring on a private bus.
@Suite(
  .blocking, .serialized, .timeLimit(.minutes(15)),
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct RouterKeychainTests {
  let keyring: PrivateKeyring

  init() throws { keyring = try PrivateKeyring() }

  private func use<R>(_ body: (StorageConfiguration) async throws -> R) async throws -> R {
    var configuration = StorageConfiguration()
    configuration.unregisteredKeys = .throwError
    configuration.stores.keychain.address = keyring.address
    let variables = Dictionary(uniqueKeysWithValues: keyring.environment)
    let system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { variables[$0] }
    return try await SystemDirectories.$current.withValue(system) { [configuration] in try await body(configuration) }
  }

  // Requirements 1.16, 4.3, 4.16, 4.19, 4.25
  @Test("A secret keeps its accessibility class, and a locked keyring is an error, not absence or a default")
  func secrets() async throws {
    try await use { configuration in
      let router = StorageRouter(configuration: configuration)
      try await router.registerCatalog(ShopCatalog())
      try await router.set("s3cret", for: .token)
      #expect(try await router.get(.token) == "s3cret")
      let key = plain("pin", in: .keychain(), default: 0, security: .keychain(accessibility: .afterFirstUnlock))
      let other = StorageRouter(configuration: configuration)
      try await other.set(7, for: key)
      let adapter = try await KeychainAdapter.open(
        service: "com.example.shop", configuration: configuration.stores.keychain)
      #expect(try await adapter.accessibility(of: "pin") == .afterFirstUnlock)
      #expect(try await adapter.accessibility(of: "token") == .whenUnlocked)
      try await other.batch { $0.set(8, for: key) }
      #expect(try await other.update(key) { $0 += 1 } == 9)
      #expect(try await adapter.accessibility(of: "pin") == .afterFirstUnlock)

      try keyring.lock()
      let third = StorageRouter(configuration: configuration)
      await expectError(.unavailable, "locked") { _ = try await third.get(key) }
      await expectError(.unavailable, "locked") { try await third.set(1, for: key) }
      await expectError(.unavailable, "locked") { try await third.update(key) { $0 += 1 } }
      await expectError(.unavailable, "locked") { _ = try await third.exists(key) }
      let report = await router.auditReport()
      let token = try #require(report.entries.first { $0.key.name == "token" })
      guard case .unavailable(let reason) = token.state else { throw TestFailure("\(token.state)") }
      #expect(reason.contains("locked"))
      for router in [router, other, third] { try await router.close() }
      try await adapter.engine.close()
    }
  }

  @Test("The audit reports that a secret exists, and undeclared secrets")
  func audit() async throws {
    try await use { configuration in
      let router = StorageRouter(configuration: configuration)
      try await router.registerCatalog(ShopCatalog())
      try await router.set("s3cret", for: .token)
      let helper = KeychainHelper(configuration: configuration)
      try await helper.set(Data("x".utf8), service: "com.example.shop", key: "stranger")
      let report = await router.auditReport()
      let token = try #require(report.entries.first { $0.key.name == "token" })
      guard case .present(size: nil, changed: .some) = token.state else { throw TestFailure("\(token.state)") }
      #expect(report.undeclared.map(\.name) == ["stranger"])
      #expect(!String(decoding: try report.encoded, as: UTF8.self).contains("s3cret"))
      try await router.close()
    }
  }

  // Requirement 5.14
  @Test("A family of secrets is listed and removed by its names; only the values are secret")
  func family() async throws {
    let tokens = KeyFamily<String, String>(secret: "tokens", in: .keychain(), owner: "Account", about: "Sessions.")
    try await use { configuration in
      let router = StorageRouter(configuration: configuration)
      try await router.registerCatalog(ShopCatalog(allKeys: [.family(tokens), .key(.token)]))
      try await router.set("s3cret", for: .token)
      for id in ["../x", "e\u{301}", "\u{E9}"] { try await router.set("s3cret of \(id)", for: tokens[id]) }
      #expect(try await router.get(tokens["e\u{301}"]) == "s3cret of e\u{301}")
      #expect(try await router.ids(of: tokens).map { Array($0.utf8).count } == [4, 3, 2])
      let report = await router.auditReport()
      let entry = try #require(report.entries.first { $0.key.family == "String" })
      guard case .members(count: 3, size: nil, changed: .some) = entry.state else { throw TestFailure("\(entry)") }
      #expect(report.undeclared.isEmpty)
      #expect(!String(decoding: try report.encoded, as: UTF8.self).contains("s3cret"))
      try keyring.lock()
      let locked = StorageRouter(configuration: configuration)
      await expectError(.unavailable, "locked") { _ = try await locked.get(tokens["../x"]) }
      await expectError(.unavailable, "locked") { try await locked.removeAll(of: tokens) }
      try keyring.unlock("correct horse")
      try await router.removeAll(of: tokens)
      #expect(try await router.ids(of: tokens).isEmpty)
      #expect(try await router.get(.token) == "s3cret")
      for router in [router, locked] { try await router.close() }
    }
  }

  // Requirement 1.47
  @Test("A secret with an access control is read from the keyring once the user has confirmed it, by every reader")
  func accessControl() async throws {
    try await use { configuration in
      let authenticator = CountingAuthenticator()
      var asking = configuration
      asking.authentication = AuthenticationContext(authenticator)
      let helper = KeychainHelper(configuration: asking)
      try await helper.set(
        Data([1]), service: "com.example.shop", key: "pin", accessibility: .afterFirstUnlock,
        accessControl: .userPresence)
      #expect(try await helper.exists(service: "com.example.shop", key: "pin"))
      #expect(authenticator.count == 0)
      #expect(try await helper.get(service: "com.example.shop", key: "pin") == Data([1]))
      #expect(authenticator.count == 1)
      // Another process with its own handle, without an authenticator.
      let adapter = try await KeychainAdapter.open(
        service: "com.example.shop", configuration: configuration.stores.keychain)
      #expect(try await adapter.accessControl(of: "pin") == .userPresence)
      #expect(try await adapter.accessibility(of: "pin") == .afterFirstUnlock)
      await expectError(.unsupported, "userPresence") { _ = try await adapter.get("pin") }
      let reading = try await KeychainAdapter.open(
        service: "com.example.shop",
        configuration: {
          var keychain = configuration.stores.keychain
          keychain.store.access = .readOnly
          return keychain
        }())
      await expectError(.unsupported, "userPresence") { _ = try await reading.get("pin") }
      let vault = EngineVaultService(engine: adapter.engine)
      await #expect(throws: SwiftVaultError.self) { _ = try await vault.loadData(forKey: "pin") }
      let key = TypedKey<Data>(
        secret: "pin", in: .keychain(accessibility: .afterFirstUnlock, accessControl: .userPresence), owner: "Tests",
        about: "For a test.", as: .data)
      let router = StorageRouter(configuration: asking)
      #expect(try await router.get(key) == Data([1]))
      _ = try await router.state(of: [key])
      #expect(authenticator.count == 3)
      for engine in [adapter.engine, reading.engine] { try await engine.close() }
      try await router.close()
    }
  }

  // Requirements 1.47, 4.10
  @Test("The helper sets, gets and deletes secrets, and refuses access controls")
  func helper() async throws {
    try await use { configuration in
      let helper = KeychainHelper(configuration: configuration)
      try await helper.set(Data([1]), service: "a", key: "k", accessibility: .whenPasscodeSetThisDeviceOnly)
      try await helper.set(Data([2]), service: "a", key: "k")
      try await helper.set(Data([3]), service: "b", key: "k")
      #expect(try await helper.get(service: "a", key: "k") == Data([2]))
      #expect(try await helper.exists(service: "a", key: "k"))
      try await helper.delete(service: "a", key: "k")
      try await helper.delete(service: "a", key: "k")
      #expect(try await helper.get(service: "a", key: "k") == nil)
      #expect(try await !helper.exists(service: "a", key: "k"))
      try await helper.set(Data([4]), service: "a", key: "l")
      try await helper.deleteAll(service: "a")
      #expect(try await !helper.exists(service: "a", key: "l"))
      #expect(try await helper.get(service: "b", key: "k") == Data([3]))
      await expectError(.unsupported, "userPresence") {
        try await helper.set(Data([5]), service: "a", key: "k", accessControl: .userPresence)
      }
    }
  }
}

/// An authenticator that confirms everything and counts.
private final class CountingAuthenticator: Authenticator {
  let supported = Set(KeychainAccessControl.allCases)
  private let questions = Locked(0)
  var count: Int { questions.withLock { $0 } }

  func authenticate(
    for control: KeychainAccessControl, reason: String, deadline: ContinuousClock.Instant
  ) async throws -> AuthenticationOutcome {
    questions.withLock { $0 += 1 }
    return .confirmed
  }
}
