import CofferFileSystem
import CofferTestSupport
import CofferTestTraits
import CofferVault
import Foundation
import Testing

/// Audits and vaults over a real keyring on a private bus.
@Suite(
  .blocking, .serialized, .timeLimit(.minutes(15)),
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct KeyringAuditTests {
  private let keyring: PrivateKeyring
  private let directory: TemporaryDirectory

  init() throws {
    keyring = try PrivateKeyring()
    directory = try TemporaryDirectory()
  }

  private var file: URL { directory.url.appendingPathComponent("secrets.sealed") }
  private let passphrase = PassphraseSource.provided { Data("correct horse".utf8) }

  private var configuration: StorageConfiguration {
    configured { $0.stores.keychain.address = keyring.address }
  }

  /// Runs `body` with the user's directories, or with others in which no journal of the keyring is.
  private func use<R>(elsewhere: Bool = false, _ body: () async throws -> R) async throws -> R {
    var variables = Dictionary(uniqueKeysWithValues: keyring.environment)
    if elsewhere {
      variables["XDG_DATA_HOME"] = directory.path("data")
      variables["HOME"] = directory.path("home")
    }
    let system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { [variables] in
      variables[$0]
    }
    return try await SystemDirectories.$current.withValue(system, operation: body)
  }

  private struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
  }

  private func states(_ keys: [TypedKey<String>]) async throws -> [AuditReport.State] {
    let router = StorageRouter(configuration: configuration)
    try await router.registerCatalog(Catalog(allKeys: keys.map { .key($0) }))
    let report = await router.auditReport()
    try await router.close()
    return report.entries.map(\.state)
  }

  // Requirement 4.1
  @Test("A secret that was written under another data directory is found; a keyring that does not answer is unknown")
  func elsewhere() async throws {
    let token = TypedKey<String>.token
    let chained = TypedKey<String>(
      secret: "zero", in: .chain(sealedAt: file, passphrase: passphrase), owner: "Account", about: "Never stored.")
    #expect(try await use(elsewhere: true) { try await states([token, chained]) } == [.absent, .absent])
    try await use {
      let router = StorageRouter(configuration: configuration)
      try await router.set("s3cret", for: token)
      try await router.close()
    }
    let found = try await use(elsewhere: true) { try await states([token, chained]) }
    #expect(found == [.present(size: nil, changed: nil), .absent])
    func expectUnknown(_ text: String) async throws {
      for state in try await use(elsewhere: true, { try await states([token, chained]) }) {
        guard case .unavailable(let reason) = state else { throw TestFailure("\(state)") }
        #expect(reason.contains(text))
      }
    }
    try keyring.lock()
    try await expectUnknown("locked")
    keyring.stopBus()
    try await expectUnknown("cannot be reached")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).isEmpty)
  }

  @Test("A chain whose keyring was used here and cannot be asked now is unknown, and no sealed file is created")
  func usedChain() async throws {
    let key = TypedKey<String>(
      secret: "zero", in: .chain(sealedAt: file, passphrase: passphrase), owner: "Account", about: "Stored and removed."
    )
    try await use {
      let router = StorageRouter(configuration: configuration)
      try await router.set("s3cret", for: key)
      try await router.remove(key)
      try await router.close()
      #expect(try await states([key]) == [.absent])
      keyring.stopBus()
      guard case .unavailable = try await states([key])[0] else { throw TestFailure("not unknown") }
    }
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  // Requirements 0.19, 0.44
  @Test("The keychain's factory makes a vault whose prefix separates it from others, in every method")
  func scopes() async throws {
    try await use {
      let settings = configuration.stores.keychain
      let accounts = SwiftVault.keychain(keyPrefix: "accounts.", configuration: settings)
      let whole = SwiftVault.keychain(configuration: settings)
      let team = SwiftVault.keychain(keyPrefix: "accounts.", accessGroup: "team", configuration: settings)
      try await accounts.saveData(Data([1]), forKey: "a", transactionID: UUID())
      try await accounts.saveData(Data([2]), forKey: "b", transactionID: UUID())
      try await whole.saveData(Data([3]), forKey: "a", transactionID: UUID())
      try await team.saveData(Data([4]), forKey: "a", transactionID: UUID())
      #expect(try await whole.loadData(forKey: "accounts.a") == Data([1]))
      #expect(try await accounts.loadData(forKey: "a") == Data([1]))
      #expect(await !accounts.exists(forKey: "accounts.a"))
      var changes = whole.externalChanges.makeAsyncIterator()
      try await accounts.clearAll()
      while let change = await changes.next() { if change.key == nil { break } }
      for key in ["a", "b"] { #expect(try await accounts.loadData(forKey: key) == nil) }
      #expect(try await whole.loadData(forKey: "a") == Data([3]))
      #expect(try await team.loadData(forKey: "a") == Data([4]))
      try await whole.clearAll()
      #expect(try await whole.loadData(forKey: "a") == nil)
      #expect(try await team.loadData(forKey: "a") == Data([4]), "another access group is another store")
      for vault in [accounts, whole, team] { try await vault.engine.close() }
    }
  }

  // Requirement 0.44
  @Test("A vault over a chain is in the keyring, or in the sealed file where there is none")
  func chains() async throws {
    for hasBus in [true, false] {
      if !hasBus { keyring.stopBus() }
      try await use(elsewhere: !hasBus) {
        let vault = try await SwiftVault.keychain(
          keyPrefix: "accounts.", orSealedAt: file, passphrase: passphrase,
          configuration: configuration.stores.keychain)
        try await vault.saveData(Data("s3cret".utf8), forKey: "a", transactionID: UUID())
        #expect(try await vault.engine.summaries().map(\.key) == ["accounts.a"])
        #expect(vault.engine.description.hasPrefix(hasBus ? "keychain:" : "sealed:"))
        try await vault.clearAll()
        #expect(try await vault.loadData(forKey: "a") == nil)
        try await vault.engine.close()
      }
      #expect(FileManager.default.fileExists(atPath: file.path) == !hasBus)
    }
  }
}
