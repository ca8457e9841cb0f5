import CofferFileSystem
import CofferTestSupport
import CofferTesting
import CofferVault
import Foundation
import Testing

/// Preferences that the command writes and a program reads with its declared keys, and the reverse.
@Suite("Declared preferences", .serialized) @MainActor struct DeclaredPreferenceTests {
  private nonisolated let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private enum Theme: String, Codable, Sendable { case dark, light }

  private enum Flag: VaultStorable {
    static let defaultValue = false
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }
  private enum Count: VaultStorable {
    static let defaultValue = 0
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }
  private enum Ratio: VaultStorable {
    static let defaultValue = 0.0
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }
  private enum Moment: VaultStorable {
    static let defaultValue = Date(timeIntervalSinceReferenceDate: 0)
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }
  private enum Blob: VaultStorable {
    static let defaultValue = Data()
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }
  private enum Names: VaultStorable {
    static let defaultValue: [String] = []
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }
  private enum Look: VaultStorable {
    static let defaultValue = Theme.dark
    static var storageType: SwiftVaultStorageType { .userDefaults(suiteName: "shop") }
  }

  private let store = [(name: "COFFER_STORE", value: String?.some("prefs:shop"))]

  /// Runs `body` with a router over the preferences of the sandbox, and closes it.
  private func use<R>(_ body: (StorageRouter) async throws -> R) async throws -> R {
    let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") { [sandbox] name in
      name == "HOME" ? sandbox.path("") : nil
    }
    return try await SystemDirectories.$current.withValue(system) {
      let router = StorageRouter()
      let result: Result<R, any Error>
      do { result = .success(try await body(router)) } catch { result = .failure(error) }
      try await router.close()
      return try result.get()
    }
  }

  private func set(_ key: String, _ value: String, _ more: String...) async throws -> EndedProgram {
    try await sandbox.bash(
      "coffer set '\(key)' '\(value)' \(more.joined(separator: " "))", environment: store)
  }

  /// The command writes, a property reads.
  private func reads<D: VaultStorable>(
    _ definition: D.Type, _ expected: D.Value, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let value = try await use { router in
      let property = VaultStored(definition, in: router)
      return try await property.projectedValue.load()
    }
    #expect(value == expected, sourceLocation: sourceLocation)
  }

  /// A property writes, the command prints.
  private func prints<D: VaultStorable>(
    _ definition: D.Type, _ value: D.Value, _ expected: Data, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await use { router in
      let property = VaultStored(definition, in: router)
      property.wrappedValue = value
      try await property.projectedValue.flush()
    }
    let ended = try await sandbox.coffer("get", D.key, environment: store)
    #expect(ended.output == expected, "\(ended.text) \(ended.errors)", sourceLocation: sourceLocation)
  }

  // Requirement 1.15
  @Test("A property reads what the command has written, with and without a type")
  func theCommandWrites() async throws {
    for type in ["", "--type boolean"] {
      #expect(try await set("Flag", "true", type).status == 0)
      try await reads(Flag.self, true)
      try await sandbox.coffer("rm", "Flag", environment: store)
    }
    for type in ["", "--type number"] {
      #expect(try await set("Count", "42", type).status == 0)
      try await reads(Count.self, 42)
      #expect(try await set("Ratio", "0.5", type).status == 0)
      try await reads(Ratio.self, 0.5)
      try await sandbox.coffer("rm", "Count", "Ratio", environment: store)
    }
    #expect(try await set("Moment", "2026-11-21T09:00:00Z", "--type date").status == 0)
    try await reads(Moment.self, Date(timeIntervalSince1970: 1_795_251_600))
    try sandbox.write(Data([0, 255, 10]), to: "bytes")
    #expect(try await sandbox.coffer("set", "Blob", "--file", "bytes", environment: store).status == 0)
    try await reads(Blob.self, Data([0, 255, 10]))
    #expect(try await set("Names", #"["a","b"]"#).status == 0)
    try await reads(Names.self, ["a", "b"])
    #expect(try await set("Look", "light").status == 0)
    try await reads(Look.self, .light)
  }

  // Requirement 1.15
  @Test("A value of another type is an error at either end, and nothing is overwritten")
  func otherTypes() async throws {
    try await prints(Flag.self, true, Data("true".utf8))
    try await prints(Count.self, 42, Data("42".utf8))
    try await prints(Moment.self, Date(timeIntervalSinceReferenceDate: 86_400), Data("86400.0".utf8))
    try await prints(Names.self, ["a"], Data(#"["a"]"#.utf8))
    try await prints(Look.self, .light, Data("light".utf8))
    let before = try sandbox.read(".config/shop.plist")
    for (key, value, word) in [
      ("Flag", "perhaps", "a Boolean"), ("Count", "many", "a number"), ("Moment", "tomorrow", "a date"),
      ("Names", "lone", "a list"), ("Names", #"{"a":"b"}"#, "a list"),
    ] {
      let ended = try await set(key, value)
      #expect(ended.status == 2 && ended.errors.contains(word) && ended.errors.contains("--type"), "\(ended.errors)")
      #expect(!ended.errors.contains(value))
    }
    #expect(try sandbox.read(".config/shop.plist") == before)

    #expect(try await set("Count", "many", "--type string").status == 0)
    #expect(try await set("Look", "green").status == 0)
    let changed = try sandbox.read(".config/shop.plist")
    try await use { router in
      let count = VaultStored(Count.self, in: router)
      let error = await #expect(throws: StorageError.self) { try await count.projectedValue.load() }
      #expect(error?.code == .decodingFailed && error?.key?.string == "Count")
      #expect(error.map { "\($0)" }?.contains("many") == false, "an error has no values")
      #expect(count.wrappedValue == 0)
      let look = VaultStored(Look.self, in: router)
      await #expect(throws: StorageError.self) { try await look.projectedValue.load() }
    }
    #expect(try sandbox.read(".config/shop.plist") == changed)
  }
}
