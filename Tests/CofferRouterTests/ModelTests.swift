import CofferRouter
import CofferTestSupport
import Foundation
import Testing

@Suite struct ModelTests {
  // Requirement 4.32
  @Test("Values of mixed types survive JSON and property lists exactly")
  func anyCodable() throws {
    let payload: [String: AnyCodable] = [
      "null": nil, "yes": true, "no": false, "zero": 0, "one": 1, "big": .integer(.max), "bigger": .unsigned(.max),
      "small": .integer(.min), "half": 0.5, "text": "Ann", "list": [1, "a", [true]], "map": ["x": ["y": nil]],
      "empty": [], "nothing": [:],
    ]
    let json = try JSONDecoder().decode([String: AnyCodable].self, from: JSONEncoder().encode(payload))
    #expect(json == payload)
    let plain = payload.filter { !["null", "map"].contains($0.key) }  // A property list has no null.
    let list = try PropertyListDecoder().decode([String: AnyCodable].self, from: PropertyListEncoder().encode(plain))
    #expect(list == plain)
    #expect(throws: (any Error).self) { try JSONDecoder().decode(AnyCodable.self, from: Data("[".utf8)) }
  }

  // Requirements 4.33, 4.36
  @Test("A migration's context describes the device and the system")
  func context() throws {
    let context = MigrationContext(appVersion: "2.1.0")
    #expect(context.previousAppVersion == nil)
    #expect(!context.device.systemName.isEmpty && !context.device.systemVersion.isEmpty)
    #expect(["x86_64", "aarch64", "arm64"].contains(context.device.architecture), "\(context.device)")
    #expect(context.system.processorCount > 0 && context.system.memoryBytes > 1 << 20 && context.system.uptime > 0)
    #expect(context.system.freeDiskBytes != nil && !context.system.locale.isEmpty)
    let coded = try JSONDecoder().decode(DeviceInfo.self, from: JSONEncoder().encode(context.device))
    #expect(coded == context.device)
  }

  #if os(Linux)
    // Requirement 4.36
    @Test("On Linux the names are those of os-release", .enabled(if: access("/etc/os-release", R_OK) == 0))
    func osRelease() throws {
      let file = try String(contentsOfFile: "/etc/os-release", encoding: .utf8)
      #expect(file.contains(DeviceInfo.current.systemName))
    }
  #endif

  // Requirement 4.31
  @Test("A type-erased migration forwards to the wrapped one")
  func migrations() async throws {
    struct Old: StorageMigration {
      let destinationKey = plain("new", String.self)
      func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        try await !router.exists(destinationKey) && context.appVersion == "2"
      }
      func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await router.set("moved", for: destinationKey)
        return MigrationResult(success: true, migratedCount: 1, metadata: ["from": "old"])
      }
    }
    let migration = AnyStorageMigration(Old())
    #expect(migration.destination == "new" && migration.name == "Old")
    let (router, context) = (StorageRouter(), MigrationContext(appVersion: "2"))
    #expect(try await migration.shouldMigrate(using: router, context: context))
    let result = try await migration.migrate(using: router, context: context)
    #expect(result.success && result.migratedCount == 1 && result.metadata["from"] == "old" && result.errors.isEmpty)
    #expect(try await !migration.shouldMigrate(using: router, context: context))
  }

  // Requirement 4.21
  @Test("Serializers write their format")
  func serializers() async throws {
    struct Point: Codable, Hashable, Sendable { var y, x: Int }
    let engine = MemoryEngine(name: "mine")
    var configuration = StorageConfiguration()
    configuration.engines["mine"] = engine
    let router = StorageRouter(configuration: configuration)
    func bytes<V: Sendable & Equatable>(_ name: String, _ value: V, _ serializer: Serializer<V>) async throws -> Data? {
      let key = TypedKey<V>(name, in: .engine("mine"), owner: "Tests", about: "For a test.", as: serializer)
      try await router.set(value, for: key)
      let other = StorageRouter(configuration: configuration)  // with an empty cache
      let found = try await other.get(key)
      #expect(found == value)
      let stored = try KeyName(name)
      let entry = try await engine.entry(stored)
      return entry?.value
    }
    let json = try await bytes("json", Point(y: 1, x: 2), .json)
    #expect(json == Data(#"{"x":2,"y":1}"#.utf8))
    #expect(try await bytes("text in JSON", "a", .json) == Data(#""a""#.utf8))
    #expect(try await bytes("list", Point(y: 1, x: 2), .propertyList)?.starts(with: Data("bplist".utf8)) == true)
    #expect(try await bytes("data", Data([0, 255]), .data) == Data([0, 255]))
    #expect(try await bytes("text", "Größe", .text) == Data("Größe".utf8))
    let csv = Serializer<[String]>.custom(name: "csv") {
      Data($0.joined(separator: ",").utf8)
    } decode: {
      String(decoding: $0, as: UTF8.self).split(separator: ",").map(String.init)
    }
    #expect(try await bytes("csv", ["a", "b"], csv) == Data("a,b".utf8))
    #expect(csv.name == "csv" && Serializer<Int>.json.name == "JSON")
    try await engine.commit(WriteBatch([.put(KeyName("text"), Data([0xFF]))]), from: StoreOrigin())
    let text = TypedKey<String>("text", in: .engine("mine"), owner: "Tests", about: "For a test.", as: .text)
    await expectError(.decodingFailed, "text") { _ = try await router.get(text) }
  }

  // Requirement 4.25
  @Test("Domains and policies have readable descriptions")
  func words() {
    let url = URL(fileURLWithPath: "/srv/a\u{1B}b")
    #expect("\(StorageDomain.userDefaults(suite: "s"))" == "preferences s")
    #expect("\(StorageDomain.userDefaults())" == "preferences")
    #expect("\(StorageDomain.appGroupUserDefaults())" == "preferences of the app group")
    #expect("\(StorageDomain.keychain(service: "s"))" == "keychain s")
    #expect("\(StorageDomain.fileSystem(.caches))" == "files in caches")
    #expect("\(StorageDomain.encryptedFileSystem(.documents))" == "encrypted files in documents")
    #expect("\(StorageDomain.appGroupFileSystem(group: "g"))" == "files of the app group g")
    #expect(!"\(StorageDomain.database(url))".contains("\u{1B}"))
    #expect("\(StorageDomain.memory())" == "memory" && "\(StorageDomain.engine("e"))" == "engine e")
    #expect("\(SecurityPolicy.none)" == "unprotected")
    #expect("\(SecurityPolicy.encrypted(.init(.aes256, keyMaterial: "hsm")))" == "AES-256-GCM, key of hsm")
    let guarded = SecurityPolicy.keychain(accessibility: .afterFirstUnlock, accessControl: .userPresence)
    #expect("\(guarded)" == "keychain, afterFirstUnlock, userPresence")
    #expect(KeychainAccessibility.allCases.count == 7 && KeychainAccessControl.allCases.count == 6)
  }
}
