import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// The page of which the README shows a picture: plain values, an encrypted one beside them, hidden names, a sealed
/// file and a keyring.
@Suite(
  .blocking, .serialized, .timeLimit(.minutes(5)),
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct AuditPictureTests {
  private struct Customer: Codable, Sendable {
    var name: String
    var city: String
  }

  /// The home directory in the picture.
  private static let home = "/srv/shop"
  private let keyring: PrivateKeyring
  private let home: URL

  init() throws {
    keyring = try PrivateKeyring()
    home = keyring.root.appendingPathComponent("home").standardizedFileURL
  }

  private func file(_ name: String) -> URL { home.appendingPathComponent(name) }

  private struct Catalog: StorageKeyCatalog {
    let name = "Shop"
    let allKeys: [AnyStorageKey]
  }

  private var settings: StorageConfiguration {
    configured {
      $0.stores.keychain.address = keyring.address
      $0.stores.passphrase = { _ in .provided { Data("correct horse".utf8) } }
      $0.encryption.settings.hidesNames = true
      $0.encryption.settings.padsValues = true
    }
  }

  @Test("The page of a store of each kind says how each value is protected")
  func page() async throws {
    let database = StorageDomain.database(file("shop.db"))
    let appearance = SettingKey<Theme>(
      "appearance", in: .userDefaults(), owner: "Settings", about: "The colours of the window.", default: .system,
      sync: .automaticSmall)
    let interval = SettingKey<Int>(
      "syncInterval", in: .userDefaults(), owner: "Settings", about: "Minutes between two syncs.", default: 60,
      sync: .automaticSmall)
    let customer = TypedKey<Customer>(
      "customer", in: database, owner: "Account", about: "The customer who is logged in.",
      security: .encrypted(.aes256))
    let searches = TypedKey<[String]>(
      "recentSearches", in: database, owner: "Search", about: "Recent searches, newest first.", as: .propertyList,
      sync: .manual, lifetime: .seconds(30 * 86_400))
    let carts = KeyFamily<Int, [String]>(
      "cart", in: database, owner: "Orders", about: "The cart of a customer.", lifetime: .seconds(7 * 86_400))
    let visits = SettingKey<Int>(
      "visits", in: database, owner: "Statistics", about: "How often the shop was opened.", default: 0)
    let receipt = TypedKey<Data>(
      "receipt", in: .encryptedFileSystem(.custom(file("receipts"))), owner: "Orders",
      about: "The last receipt as a PDF.", as: .data)
    let watchFace = TypedKey<[String]>(
      "watchFace", in: .fileSystem(.custom(file("documents"))), owner: "Watch",
      about: "The products shown on the watch.", availability: .phoneWithWatchSync, sync: .manual)
    let token = TypedKey<String>(
      secret: "token", in: .keychain(accessibility: .afterFirstUnlock), owner: "Account",
      about: "The session at the shop.", lifetime: .seconds(3_600))
    let licence = TypedKey<String>(
      secret: "licence", in: .sealed(at: file("shop.sealed")), owner: "Billing", about: "The key of the licence.")
    let variables = Dictionary(keyring.environment + [("XDG_CONFIG_HOME", file(".config").path)]) { $1 }
    let system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { variables[$0] }
    let page = try await SystemDirectories.$current.withValue(system) {
      let router = StorageRouter(configuration: settings)
      try await router.registerCatalog(
        Catalog(allKeys: [
          .key(appearance), .key(interval), .key(customer), .key(searches), .family(carts), .key(visits),
          .key(receipt), .key(watchFace), .key(token), .key(licence),
        ]))
      try await router.set(.dark, for: appearance)
      try await router.set(15, for: interval)
      try await router.setSyncPolicy(.never, for: interval)
      try await router.set(Customer(name: "Ann", city: "Graz"), for: customer)
      try await router.set((1...120).map { "a mug, number \($0)" }, for: searches)
      for id in 1...3 { try await router.set(["mug", "cup"], for: carts[id]) }
      try await router.set(41, for: visits)
      try await router.set(Data(count: 35_664), for: receipt)
      try await router.set("s3cret", for: token)
      try await router.set("s3cret", for: licence)
      let engine = try await StoreLocation.sqlite(path: file("shop.db").path).open()
      try await engine.commit(WriteBatch([.put("oldCart", Data("[]".utf8))]), from: StoreOrigin())
      try await engine.close()
      let page = String(decoding: await router.auditReport().html, as: UTF8.self)
      try await router.close()
      return page.replacing(home.path, with: Self.home)
    }
    for words in [
      "names hidden, sizes padded", "expires after 30 days", "All values sealed", "sealed file, whenUnlocked",
      "sealed:\(Self.home)/shop.sealed", "Values of declared",
    ] {
      #expect(page.contains(words), "\(words)")
    }
    #expect(!page.contains("s3cret") && !page.contains("unavailable"))
    // The key of the encrypted stores is no leftover.
    #expect(!page.contains("encryption-key") && page.contains("one undeclared value"))
    guard let path = ProcessInfo.processInfo.environment["COFFER_AUDIT_PAGE"] else { return }
    try Data(page.utf8).write(to: URL(fileURLWithPath: path))
  }
}
