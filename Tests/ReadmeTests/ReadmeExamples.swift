// The Swift code of README.md and of the article Tour, compiled and run: ReadmeTests compares them line by line.
import Coffer
import CofferCallbacks
import CofferCore
import CofferFileSystem
import CofferPersistence
import CofferTesting
import CofferVault
import Foundation
import Testing

struct Theme: Codable, Equatable, Sendable {
  var name: String
  var isDark: Bool
}

enum Appearance: String, Codable, Sendable { case system, dark, light }

extension StorageKey where Self == SettingKey<Appearance> {
  static var appearance: Self {
    SettingKey("appearance", in: .userDefaults(), owner: "Settings", about: "The window's colours.", default: .system)
  }
}

extension StorageKey where Self == TypedKey<String> {
  static var token: Self {
    TypedKey(secret: "token", in: .keychain(), owner: "Account", about: "The session at the shop.")
  }
}

actor DictionaryAdapter: StorageAdapter {
  var values: [Data: Data] = [:]
  func read(key: String) async throws -> Data? { values[Data(key.utf8)] }
  func write(key: String, data: Data) async throws { values[Data(key.utf8)] = data }
  func delete(key: String) async throws { values[Data(key.utf8)] = nil }
  func exists(key: String) async -> Bool { values[Data(key.utf8)] != nil }
}

@Suite("The README's examples run")
struct ReadmeExamples {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-readme-\(UUID())")

  /// Runs an example on a temporary store.
  private func withStore(_ body: (SQLiteEngine, TypedStore) async throws -> Void) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let engine = try await SQLiteEngine.open(at: folder.appendingPathComponent("store.db").path)
    try await body(engine, TypedStore(engine: engine))
    try await engine.close()
  }

  @Test func first() async throws {
    let path = folder.appendingPathComponent("store.db").path
    defer { try? FileManager.default.removeItem(at: folder) }
    let applied = Locked<[Theme?]>([])
    func apply(_ theme: Theme?) { applied.withLock { $0.append(theme) } }

    let engine = try await SQLiteEngine.open(at: path)
    let store = TypedStore(engine: engine)

    let ending = Task {
      try await eventually("the theme is applied") { applied.withLock { !$0.isEmpty } }
      try await engine.close()
    }
    try await store.save(Theme(name: "Night", isDark: true), for: "theme")  // survives power loss when it returns
    let theme = try await store.load(Theme.self, for: "theme")  // nil only when it is proven absent
    let quick = store.cached(Theme.self, for: "theme")  // without await; nil unless it is in memory and current
    try await store.update(Int.self, for: "launches") { ($0 ?? 0) + 1 }  // atomic across tasks and processes
    for await theme in try store.values(of: "theme", as: Theme.self) {
      apply(try theme.get())  // the current value, then the value after each change
    }
    try await ending.value
    #expect(theme == Theme(name: "Night", isDark: true))
    #expect(quick == theme)
    #expect(applied.withLock { $0 } == [theme])
  }

  @Test func keys() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let used = Locked<[Appearance?]>([])
    func use(_ appearance: Appearance?) { used.withLock { $0.append(appearance) } }
    let config = folder.appendingPathComponent("config").path
    let system = SystemDirectories(bundleIdentifier: nil, processName: "readme") {
      $0 == "XDG_CONFIG_HOME" ? config : nil
    }
    try await SystemDirectories.$current.withValue(system) {
      let router = StorageRouter()
      let ending = Task {
        try await eventually("the value is used") { used.withLock { !$0.isEmpty } }
        try await router.close()
      }
      try await router.set(.dark, for: .appearance)
      let appearance = try await router.get(.appearance)  // the default while there is none
      for await appearance in try await router.values(of: .appearance) { use(try appearance.get()) }
      try await ending.value
      #expect(appearance == .dark && used.withLock { $0 } == [.dark])
    }
  }

  /// Runs an example with temporary system directories and without a session bus.
  private func withDesktop(_ body: () async throws -> Void) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let system = SystemDirectories(bundleIdentifier: nil) { [folder] in $0 == "HOME" ? folder.path : nil }
    try await SystemDirectories.$current.withValue(system, operation: body)
  }

  @Test func preferences() async throws {
    try await withDesktop {
      let lastSync = Date(timeIntervalSinceReferenceDate: 786_000_000.25)
      let preferences = UserDefaultsAdapter(suiteName: "com.example.shop")
      try await preferences.set("dark", for: "theme")  // UserDefaults(suiteName:)?.string(forKey: "theme") elsewhere
      try await preferences.set(.date(lastSync), for: "lastSync")  // with its fractions of a second
      #expect(try await preferences.get("theme")?.string == "dark")
      #expect(try await preferences.get("lastSync")?.date == lastSync)
      try await preferences.engine.close()
    }
  }

  @Test func secrets() async throws {
    try await withDesktop {
      let passphrase = PassphraseSource.provided { Data("correct horse battery staple".utf8) }
      // The sealed file exists already, so that the chain does not touch the user's keyring.
      try await SlotEngine.sealed(at: folder.appendingPathComponent("shop.sealed"), passphrase: passphrase).close()
      let chain = SecretChain(
        .keychain(service: "com.example.shop"),  // the desktop's keyring: gnome-keyring, KeePassXC, KWallet
        .sealed(folder.appendingPathComponent("shop.sealed"), passphrase: passphrase))  // AES-256-GCM under scrypt
      let secrets = try await KeychainAdapter.open(chain)
      try await secrets.set(Data("s3cret".utf8), for: "api-token", accessibility: .afterFirstUnlock)
      #expect(try await secrets.get("api-token") == Data("s3cret".utf8))
      #expect(try await secrets.accessibility(of: "api-token") == .afterFirstUnlock)
      #expect(try await secrets.list() == ["api-token"])
      try await secrets.engine.close()
    }
  }

  @Test func severalValues() async throws {
    try await withStore { _, store in
      let transaction = TransactionID()
      try await store.saveAll([("a", 1), ("b", 2)], transaction: transaction)  // both or neither
      let values = try await store.loadAll(Int.self, keys: ["a", "b"])  // one state of the store
      #expect(values == [1, 2])
    }
  }

  @Test func backups() async throws {
    try await withStore { engine, store in
      try await store.save("light", for: "mode")
      let backup = folder.appendingPathComponent("store.bak").path
      let copy = try await engine.backup(to: backup)  // one verified state, while others go on writing
      let report = try await engine.verify()  // each page, row and commit, and that none is missing
      if let loss = try await engine.loss() { print(loss.message) }  // commits lost with a cut log or to an older copy
      #expect(copy.values == 1 && report.isWhole)
    }
  }

  @Test func durability() async throws {
    try await withStore { engine, store in
      let draft = "once upon a time"
      try await store.save(draft, for: "draft", durability: .relaxed)  // survives a killed process, not power loss
      try await engine.flush()  // from here on it survives power loss, too
      #expect(try await store.load(String.self, for: "draft") == draft)
    }
  }

  @Test func plainFiles() async throws {
    let folder = folder.appendingPathComponent("settings")
    defer { try? FileManager.default.removeItem(at: self.folder) }
    let files = try await SlotEngine.files(in: folder)
    let settings = TypedStore(engine: files)
    try await settings.save(Theme(name: "Night", isDark: true), for: "theme")
    // <folder>/theme now holds {"name":"Night","isDark":true} and nothing else: any editor or jq reads and changes it
    let text = try String(contentsOf: folder.appendingPathComponent("theme"), encoding: .utf8)
    #expect(text == #"{"name":"Night","isDark":true}"# || text == #"{"isDark":true,"name":"Night"}"#)
    try await files.close()
  }

  @Test func ownChanges() async throws {
    try await withStore { engine, store in
      let ending = Task {
        try await TypedStore(engine: engine).save(Theme(name: "Day", isDark: false), for: "theme")
        try await engine.close()
      }
      for await change in try store.changes(of: "theme") {
        if case .changed(_, let transaction, let isOwn) = change, !isOwn { print("changed by \(transaction as Any)") }
      }
      try await ending.value
    }
  }

  @Test func otherDoors() async throws {
    try await withStore { engine, store in
      // Persistence: an actor that clients get injected
      let persistence: any PersistenceCapability = AdapterBasedPersistence(adapter: SQLiteAdapter(engine: engine))
      try await persistence.save(["en", "de"], for: "languages")
      #expect(try await store.load([String].self, for: "languages") == ["en", "de"])

      // Vault: bytes with transaction ids; SwiftVault.fileSystem() is one over files
      let vault = SwiftVault.service(over: engine)
      try await vault.saveData(Data("secret".utf8), forKey: "token", transactionID: UUID())
      #expect(try await store.load(String.self, for: "token") == "secret")
    }
  }

  @Test func callbacks() async throws {
    try await withStore { engine, store in
      let shown: Bytes = await withCheckedContinuation { continuation in
        func show(_ value: Bytes) { continuation.resume(returning: value) }
        let storage = EngineKeyValueStorage(engine: engine)
        storage.store(value: Bytes("dark".utf8), for: "mode") { error in
          if let error { print("not stored: \(error)") }
        }
        storage.retrieve(for: "mode") { value, error in
          if let value { show(value) }  // what the call above stores
        }
      }
      let mode = try await store.load(String.self, for: "mode")
      #expect((shown, mode) == (Bytes("dark".utf8), "dark"))
    }
  }

  @Test func encryption() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let (keyFile, database) = (folder.appendingPathComponent("app.key"), folder.appendingPathComponent("app.db"))
    let (notes, drafts) = (folder.appendingPathComponent("notes"), folder.appendingPathComponent("drafts"))
    let isCreated = FileManager.default.createFile(
      atPath: keyFile.path, contents: Data(1..<33), attributes: [.posixPermissions: 0o600])
    #expect(isCreated)

    var configuration = StorageConfiguration()
    configuration.encryption.key = .file(keyFile)  // 32 random bytes or more; without this line, the desktop's keyring
    let router = StorageRouter(configuration: configuration)

    // One key, beside plain ones; and a store of which every value is encrypted.
    let draft = TypedKey<String>("draft", in: .database(database), security: .encrypted(.aes256))
    let note = TypedKey<String>("note", in: .encryptedFileSystem(.custom(notes)))

    try await router.set("Dear", for: draft)
    try await router.set("Milk", for: note)
    #expect(try await [router.get(draft), router.get(note)] == ["Dear", "Milk"])
    try await router.close()
    for file in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
      let bytes = try? Data(contentsOf: folder.appendingPathComponent(file))
      #expect(["Dear", "Milk"].allSatisfy { bytes?.range(of: Data($0.utf8)) == nil }, "\(file)")
    }

    let files = try await SlotEngine.files(in: drafts)
    let engine = try await EncryptedEngine.open(files, key: .file(keyFile))
    let store = TypedStore(engine: engine)

    try await store.save("Bread", for: "note")
    #expect(try await files.entry("note")?.value.range(of: Data("Bread".utf8)) == nil)
    try await engine.close()
  }

  @Test func errors() async throws {
    do {
      _ = try await SQLiteEngine.open(at: "/")
    } catch let error as StorageError {
      print(error.code, error.localizedDescription)
      // notAStore There is a directory where the database file should be. Store: sqlite:/. Give the path of a file. ...
      #expect(error.code == .notAStore)
    }
  }

  @Test func ownEngine() async throws {
    let report = try await StorageConformance(name: "dictionary", adapter: { _ in DictionaryAdapter() }).run()
    print(report)  // what passed, what was skipped because four methods cannot promise it, what failed
    #expect(report.failures.isEmpty)
  }
}
