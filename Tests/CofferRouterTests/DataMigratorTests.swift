import CofferTestSupport
import CofferTestTraits
import CofferVault
import Foundation
import Testing

private struct ProfileV1: Codable, Equatable, Sendable { var name: String }
private struct ProfileV2: Codable, Equatable, Sendable {
  var name: String
  var age: Int
}
private struct ProfileV3: Codable, Equatable, Sendable {
  var fullName: String
  var born: Date?
}
private struct Permissive: Codable, Equatable, Sendable { var anything: Int? }
private struct Refusal: Error, CustomStringConvertible { var description: String { "quotes secret-value" } }

private typealias Migrator = DataMigrator<ProfileV3>

/// The conversions from the first version by the second to the third, registered in the opposite order.
private func chain() -> Migrator.Builder {
  Migrator.Builder(targetType: ProfileV3.self)
    .register(from: ProfileV2.self, to: ProfileV3.self) { ProfileV3(fullName: $0.name, born: nil) }
    .register(from: ProfileV1.self, to: ProfileV2.self) { ProfileV2(name: $0.name + "!", age: 0) }
}

private func expectRefusal(_ code: StorageError.Code, _ text: String, _ body: () throws -> Any) {
  let error = #expect(throws: StorageError.self) { _ = try body() }
  #expect(error?.code == code && error?.message.contains(text) == true)
}

private func json(_ text: String) -> Data { Data(text.utf8) }

/// A migrator of bytes that earlier versions of a model have stored.
@Suite struct DataMigratorTests {
  // Requirement 5.16
  @Test("Each earlier version is converted by the steps that follow it")
  func chained() throws {
    let migrator = chain().build()
    let first = try migrator.value(from: json(#"{"name":"Ann"}"#))
    #expect(first.value == ProfileV3(fullName: "Ann!") && first.wasMigrated)
    let second = try migrator.value(from: json(#"{"name":"Ann","age":3}"#))
    #expect(second.value == ProfileV3(fullName: "Ann") && second.wasMigrated)
    let bytes = json(#"{ "fullName" : "Ann" }"#)
    let current = try migrator.migrate(data: bytes)
    #expect(current.data == bytes && !current.wasMigrated)
    let migrated = try migrator.migrate(data: json(#"{"name":"Ann"}"#))
    #expect(migrated.data == json(#"{"fullName":"Ann!"}"#) && migrated.wasMigrated)
  }

  // Requirement 5.16
  @Test("A type that decodes the bytes but drops fields does not win over one that keeps them")
  func permissiveTypes() throws {
    let migrator = Migrator.Builder()
      .register(from: Permissive.self, to: ProfileV3.self) { _ in ProfileV3(fullName: "wrong") }
      .register(from: ProfileV2.self, to: ProfileV3.self) { ProfileV3(fullName: $0.name) }
      .build()
    #expect(try migrator.value(from: json(#"{"name":"Ann","age":3}"#)).value.fullName == "Ann")
    // The target itself may decode the bytes of an earlier type, and would lose a field.
    let narrowed = DataMigrator<ProfileV1>.Builder()
      .register(from: ProfileV2.self, to: ProfileV1.self) { ProfileV1(name: "\($0.name), \($0.age)") }
      .build()
    #expect(try narrowed.value(from: json(#"{"name":"Ann","age":3}"#)).value.name == "Ann, 3")
    #expect(try narrowed.value(from: json(#"{"name":"Ann"}"#)).value.name == "Ann")
    #expect(try narrowed.value(from: json(#"{"name":"Ann","age":null}"#)).value.name == "Ann")
  }

  // Requirement 5.16
  @Test("Bytes that two registered types decode equally well are refused")
  func ambiguousMatches() throws {
    let migrator = Migrator.Builder()
      .register(from: ProfileV1.self, to: ProfileV3.self) { ProfileV3(fullName: $0.name) }
      .register(from: [String: String].self, to: ProfileV3.self) { ProfileV3(fullName: $0["name"] ?? "") }
      .build()
    expectRefusal(.migrationFailed, "ProfileV1, Dictionary<String, String>") {
      try migrator.value(from: json(#"{"name":"Ann"}"#))
    }
    #expect(try migrator.value(from: json(#"{"fullName":"Ann"}"#)).value == ProfileV3(fullName: "Ann"))
  }

  @Test("Damaged bytes, and those that no type decodes, throw the error of the target's decoder")
  func unreadableBytes() {
    for text in ["", "{", #"{"name":"#, "[1]", "null", #"{"name":1}"#] {
      #expect(throws: DecodingError.self) { try chain().build().value(from: json(text)) }
    }
  }

  // Requirement 5.16
  @Test("A converter that throws ends the conversion, and its text, which may quote the value, is not repeated")
  func throwingConverter() throws {
    let migrator = chain().register(from: Int.self, to: ProfileV1.self) { _ in throw Refusal() }.build()
    expectRefusal(.migrationFailed, "from Int to ProfileV1: the converter threw Refusal.") {
      try migrator.value(from: json("7"))
    }
  }

  // Requirement 5.16
  @Test("Cycles, gaps and duplicates of the declaration are refused at the first use, whatever is stored")
  func wrongDeclarations() {
    let current = json(#"{"fullName":"Ann"}"#)
    let gap = Migrator.Builder().register(from: Int.self, to: ProfileV1.self) { ProfileV1(name: "\($0)") }.build()
    expectRefusal(.invalidSchema, "no conversions lead from Int to ProfileV3") { try gap.value(from: current) }
    let cycle = chain().register(from: ProfileV3.self, to: ProfileV1.self) { ProfileV1(name: $0.fullName) }.build()
    expectRefusal(.invalidSchema, "the conversions from ProfileV2 form a cycle") { try cycle.value(from: current) }
    let twice = chain().register(from: ProfileV1.self, to: ProfileV3.self) { ProfileV3(fullName: $0.name) }.build()
    expectRefusal(.invalidSchema, "two conversions are registered for ProfileV1") { try twice.value(from: current) }
  }

  // Requirement 5.16
  @Test("The configuration of custom coders applies to every type")
  func customCoders() throws {
    struct Old: Codable, Sendable { var firstName: String, bornOn: Date }
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    (encoder.keyEncodingStrategy, decoder.keyDecodingStrategy) = (.convertToSnakeCase, .convertFromSnakeCase)
    (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.iso8601, .iso8601)
    let migrator = Migrator.Builder()
      .register(from: Old.self, to: ProfileV3.self) { ProfileV3(fullName: $0.firstName, born: $0.bornOn) }.build()
    let bytes = json(#"{"first_name":"Ann","born_on":"1970-01-01T00:00:10Z"}"#)
    let codec = JSONCodec(encoder: encoder, decoder: decoder)
    let value = try migrator.value(from: bytes, codec: codec).value
    #expect(value == ProfileV3(fullName: "Ann", born: Date(timeIntervalSince1970: 10)))
    #expect(throws: DecodingError.self) { try migrator.value(from: bytes) }
  }
}

private enum OldDefinition: VaultStorable {
  static let key = "profile"
  static let defaultValue = ProfileV1(name: "nobody")
  static var storageType: SwiftVaultStorageType { .fileSystem() }
}

private enum Definition: VaultStorable {
  static let key = "profile"
  static let defaultValue = ProfileV3(fullName: "nobody")
  static var storageType: SwiftVaultStorageType { .fileSystem() }
  static func configure(builder: DataMigrator<ProfileV3>.Builder) {
    builder
      .register(from: ProfileV1.self, to: ProfileV2.self) { old in
        guard old.name != "bad" else { throw Refusal() }
        return ProfileV2(name: old.name, age: 0)
      }
      .register(from: ProfileV2.self, to: ProfileV3.self) { ProfileV3(fullName: $0.name) }
  }
}

/// Properties whose definitions register conversions.
@Suite(.serialized) @MainActor struct VaultMigrationTests {
  private let fixture: RouterFixture
  private struct OldPage { @VaultStored var profile: ProfileV1 }
  private struct Page { @VaultStored var profile: ProfileV3 }

  init() throws { fixture = try RouterFixture() }

  private var file: String { fixture.path("data/com.example.shop/SwiftVaultData/profile") }

  private func storeOld(_ name: String) async throws -> Data {
    try await fixture.use { router in
      let page = OldPage(profile: VaultStored(OldDefinition.self, in: router))
      _ = try await page.$profile.load()
      page.profile = ProfileV1(name: name)
      try await page.$profile.flush()
    }
    return try Data(contentsOf: URL(fileURLWithPath: file))
  }

  // Requirement 5.17
  @Test("A property converts the value of an earlier version, which is replaced when the property is saved")
  func propertyConverts() async throws {
    let old = try await storeOld("Ann")
    try await fixture.use { router in
      let page = Page(profile: VaultStored(Definition.self, in: router))
      #expect(try await page.$profile.load() == ProfileV3(fullName: "Ann"))
      #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == old)
      page.profile.fullName = "Bea"
      try await page.$profile.flush()
      #expect(try await router.get(VaultKey<ProfileV3>(Definition.self)).fullName == "Bea")
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == #"{"fullName":"Bea"}"#)
  }

  // Requirement 5.17
  @Test("A converter that throws is reported with the key, never as the default, and the bytes stay")
  func propertyReportsFailures() async throws {
    let old = try await storeOld("bad")
    try await fixture.use { router in
      await expectError(.migrationFailed, "Refusal") { _ = try await router.get(VaultKey<ProfileV3>(Definition.self)) }
      await expectError(.migrationFailed, "ProfileV1") {
        _ = try await Page(profile: VaultStored(Definition.self, in: router)).$profile.load()
      }
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == old)
  }
}
