package import Coffer
package import CofferCore
import CofferEncryption
import CofferFileSystem
import CofferPostgreSQL
import CofferSecrets
package import CofferTesting
package import Foundation

/// The stores that the suites above the engines test. A new engine is a case, and its row of the matrix.
package enum TestedStore: String, CaseIterable, Sendable {
  case memory, sqlite, file, prefs, sealed, keychain, chain, encrypted, postgresql

  /// What suites select stores by.
  package enum Trait: Sendable {
    /// All of it is in its directory.
    case local
    /// Its values are plain, and this library can encrypt them.
    case plain
    /// Its values can expire.
    case expiring
  }

  /// Where the bytes of a value are.
  private enum Bytes {
    /// In a file of the store's directory, whose path may contain the key.
    case file((_ key: String) -> String)
    /// In a file with all values, of which there is a copy.
    case document(String, copy: String)
    /// In a row of a server.
    case row
  }

  private struct Row {
    let traits: Set<Trait>
    var bytes: Bytes?
    var obstacle: String?
    let location: (_ directory: String) async throws -> StoreLocation
  }

  private var row: Row {
    switch self {
    case .memory: Row(traits: [.plain, .expiring]) { .memory(name: Self.name($0)) }
    case .sqlite:
      Row(traits: [.local, .plain, .expiring], bytes: .file { _ in "store.db" }) { .sqlite(path: $0 + "/store.db") }
    case .file:
      Row(traits: [.local, .plain, .expiring], bytes: .file { "files/" + $0 }) { .files(directory: $0 + "/files") }
    case .prefs:
      Row(
        traits: [.local, .plain],
        bytes: .document("com.example.shop.plist", copy: ".coffer-preferences/com.example.shop/copy")
      ) { _ in .preferences(suite: "com.example.shop") }
    case .sealed:
      Row(traits: [.local, .expiring], bytes: .document("secrets.sealed", copy: "secrets.sealed.coffer/copy")) {
        .sealed(path: $0 + "/secrets.sealed")
      }
    case .keychain:
      Row(traits: [.expiring], obstacle: TestKeyring.obstacle) { .keychain(service: Self.name($0)) }
    case .chain:
      // Without a home directory, the keyring is skipped.
      Row(traits: [.local, .expiring]) {
        .chain([.keychain(service: "com.example.none"), .sealed(path: $0 + "/chain.sealed")])
      }
    case .encrypted: Row(traits: [.local, .expiring]) { .encrypted(.sqlite(path: $0 + "/encrypted.db")) }
    case .postgresql:
      Row(traits: [.plain, .expiring], bytes: .row, obstacle: PostgreSQLServer.obstacle) {
        .other(scheme: "postgresql", address: try await SharedServer.address() + "?store=" + Self.name($0))
      }
    }
  }

  // MARK: Selection

  /// Why the store cannot be tested on this machine; `nil` if it can.
  package var obstacle: String? { row.obstacle }

  package func has(_ trait: Trait) -> Bool { row.traits.contains(trait) }

  /// The stores that can be tested on this machine.
  package static let all = allCases.filter { $0.obstacle == nil }

  /// Those with all of these traits.
  package static func with(_ traits: Trait...) -> [TestedStore] { all.filter { store in traits.allSatisfy(store.has) } }

  /// Those whose values can be damaged.
  package static let damageable = all.filter { $0.row.bytes != nil }

  // MARK: Opening

  /// The location of the store of a directory.
  package func location(in directory: URL) async throws -> StoreLocation { try await row.location(directory.path) }

  /// The name of the store of a directory, where names are in one space.
  private static func name(_ directory: String) -> String {
    "t" + sha256(Data(directory.utf8)).prefix(12).map { String($0, radix: 36) }.joined(separator: "-")
  }

  /// Opens the store of a directory.
  package func open(
    in directory: URL, _ options: StoreOptions = StoreOptions()
  ) async throws -> any StorageEngine {
    let location = try await location(in: directory)
    if case .memory(let name) = location {
      return MemoryEngine(
        name: name, clock: options.database.clock, maximumValueSize: options.database.maximumValueSize,
        journalCapacity: options.database.journalRetention, events: options.events)
    }
    let options = try completed(options)
    let homes = self == .keychain ? ["XDG_CONFIG_HOME", "XDG_DATA_HOME"] : ["XDG_CONFIG_HOME"]
    let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") {
      homes.contains($0) ? directory.path : nil
    }
    return try await SystemDirectories.$current.withValue(system) {
      try await createSealedFile(of: location, options)
      return try await location.open(options)
    }
  }

  /// Adds what opening any store requires.
  private func completed(_ options: StoreOptions) throws -> StoreOptions {
    var options = options
    options.schemes = [.postgresql]
    if options.passphrase == nil { options.passphrase = { _ in .provided { Data("correct horse battery".utf8) } } }
    if options.encryption.key == nil {
      options.encryption.key = .passphrase(.provided { Data("root".utf8) }, cost: Self.cost)
    }
    if self == .keychain {
      options.keychain.address = try TestKeyring.address()
      options.keychain.timeout = .seconds(20)
    }
    return options
  }

  /// The cost of passphrases, which take no half second to try.
  private static let cost = ScryptCost(logN: 10, r: 1, p: 1)

  /// Creates a missing sealed file, since opening it by its location would give it the cost of real ones.
  private func createSealedFile(of location: StoreLocation, _ options: StoreOptions) async throws {
    if case .chain(let links) = location {
      for link in links { try await createSealedFile(of: link, options) }
    }
    guard case .sealed(let path) = location, options.access != .readOnly, options.createsIfMissing,
      try !location.exists(), let passphrase = try options.passphrase?(path)
    else { return }
    try await SlotEngine.sealed(at: URL(fileURLWithPath: path), passphrase: passphrase, cost: Self.cost).close()
  }

  /// Returns the conformance suite of the store.
  /// - Parameters:
  ///   - largest: the limit of a value, where a check sets none.
  ///   - overhead: the bytes that a decorator adds to a value.
  package func conformance(
    _ options: StorageConformance.Options = .init(handles: .openAgain, commitsToOutrunJournal: 200),
    largest: Int = 1 << 30, overhead: Int = 0
  ) -> StorageConformance {
    StorageConformance(name: rawValue, options: options) { location in
      let limit = location.maximumValueSize.map { $0 + overhead } ?? largest
      return try await open(in: location.directory, StoreOptions(maximumValueSize: limit, journalRetention: 64))
    }
  }

  /// The variables with which a helper opens the same store.
  package func environment() async throws -> [(String, String)] {
    switch self {
    case .keychain: [(TestKeyring.variable, try TestKeyring.address())]
    case .postgresql: [(SharedServer.variable, try await SharedServer.address())]
    default: []
    }
  }

  // MARK: Damage

  /// Returns the copy that the closed store has of all its values, if they are in one file.
  package func copy(in directory: URL) -> Data? {
    guard case .document(_, let copy)? = row.bytes else { return nil }
    return FileManager.default.contents(atPath: directory.path + "/" + copy)
  }

  /// Damages the value of the closed store, as a failing disk would.
  /// - Parameters:
  ///   - key: the key of the value, which only this key has.
  ///   - text: the value, of which one bit is changed.
  ///   - copy: a file with all values is replaced by garbage, and its copy by this one.
  package func damage(_ key: String, _ text: String, copy older: Data? = nil, in directory: URL) async throws {
    switch row.bytes {
    case .file(let name): try flipBit(of: text, in: directory.path + "/" + name(key))
    case .document(let file, let copy):
      guard let older else { throw TestFailure("no copy") }
      try older.write(to: directory.appendingPathComponent(copy))
      try Data("garbage".utf8).write(to: directory.appendingPathComponent(file))
    case .row:
      let (server, database) = (try await SharedServer.running(), try await SharedServer.database())
      try await server.psql(
        """
        UPDATE coffer.values SET value = set_bit(value, 29, 1 - get_bit(value, 29)) WHERE key = '\(key)'
        AND store = (SELECT store FROM coffer.stores WHERE name = '\(Self.name(directory.path))')
        """, database: database)
    case nil: throw TestFailure("\(self) cannot be damaged")
    }
  }
}

/// Changes one bit of a text in a file and restores the date of the file, as a failing disk would.
package func flipBit(of text: String, in path: String) throws {
  let text = Data(text.utf8)
  var status = stat()
  guard let range = FileManager.default.contents(atPath: path)?.range(of: text), stat(path, &status) == 0 else {
    throw TestFailure("\(path) does not hold the value")
  }
  let file = open(path, O_WRONLY)
  defer { close(file) }
  var byte = text[3] ^ 0x20
  guard pwrite(file, &byte, 1, off_t(range.lowerBound + 3)) == 1,
    futimens(file, [status.st_atim, status.st_mtim]) == 0
  else { throw TestFailure("write") }
}

extension StoreOptions {
  /// The same settings for every kind of store.
  package init(
    clock: StoreClock = .system, access: StoreAccess = .readWriteOrReadOnly, events: CofferEvents? = nil,
    maximumValueSize: Int? = nil, journalRetention: Int? = nil
  ) {
    self.init()
    let common = OpenSettings(access: access, clock: clock, events: events)
    (database.common, slots.common) = (common, common)
    if let maximumValueSize {
      (database.maximumValueSize, slots.maximumValueSize) = (maximumValueSize, maximumValueSize)
    }
    if let journalRetention {
      (database.journalRetention, slots.journalRetention) = (journalRetention, journalRetention)
    }
    keychain.store = slots
  }
}

extension LocationScheme {
  /// Stores of PostgreSQL with the settings of databases.
  fileprivate static var postgresql: LocationScheme {
    let open: @Sendable (String, StoreOptions) async throws -> any StorageEngine = { address, options in
      var configuration = PostgreSQLEngine.Configuration.patient
      configuration.common = options.database.common
      // Stores of one database have the settings of the first one, such as its clock, unless they share no connections.
      configuration.instance = address.hashValue
      configuration.maximumValueSize = min(configuration.maximumValueSize, options.database.maximumValueSize)
      configuration.journalRetention = options.database.journalRetention
      return try await PostgreSQLEngine.open("postgresql:" + address, configuration: configuration)
    }
    return LocationScheme("postgresql", form: "", meaning: "", exists: { _ in true }, open: open)
  }
}
