import CofferCallbacks
import CofferPersistence
// With nothing but this import, as in an application's own files: no Foundation, no other module of the package.
import CofferRouter
import Testing

/// Document 3's protocol, conformed to in Swift 6 mode.
private class DictionaryStorage: KeyValueStorage {
  struct NoSuchValue: Error {}
  private var values: [Key: Value] = [:]

  func store(value: Value, for key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    values[key] = value
    finished(nil)
  }

  func retrieve(for key: Key, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void) {
    if let value = values[key] { finished(value, nil) } else { finished(nil, NoSuchValue()) }
  }

  func remove(for key: Key, finished: @escaping (_ error: (any Error)?) -> Void) {
    values[key] = nil
    finished(nil)
  }
}

/// Document 1's protocol with its four methods of single values.
private actor DictionaryPersistence: PersistenceCapability {
  private var values: [String: any Sendable] = [:]

  func save<T: Codable>(_ value: T, for key: String) async throws { values[key] = String(describing: value) }
  func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? { values[key] as? T }
  func delete(key: String) async throws { values[key] = nil }
  func exists(key: String) async -> Bool { values[key] != nil }
}

@Suite struct PlainImportTests {
  // Requirement 5.5
  @Test func aClassOfFiveLinesIsACallbackStorage() async throws {
    let storage = DictionaryStorage()
    var stored: Bytes?
    storage.store(value: [1, 2], for: "bytes") { #expect($0 == nil) }
    storage.retrieve(for: "bytes") { value, _ in stored = value }
    #expect(stored == [1, 2])
    storage.remove(for: "bytes") { #expect($0 == nil) }
    storage.retrieve(for: "bytes") { _, error in #expect(error != nil) }
  }

  // Requirement 5.5
  @Test func fourMethodsAreAPersistenceCapability() async throws {
    let persistence: any PersistenceCapability = DictionaryPersistence()
    #expect(await persistence.isAvailable)
    try await persistence.activate()
    try await persistence.saveBatch([("a", "1"), ("b", "2")])
    #expect(try await persistence.loadBatch(String.self, keys: ["b", "c", "a"]) == ["2", nil, "1"])
    try await persistence.deleteBatch(keys: ["a", "c"])
    #expect(await !persistence.exists(key: "a"))
    try await persistence.migrate(from: "1", to: "1")
    await #expect(throws: StorageError.self) { try await persistence.migrate(from: "1", to: "2") }
    try await persistence.deactivate()
  }

  // Requirement 5.5
  @Test func variablesBecomeAnyCodable() throws {
    let (age, price, name, isOpen, tags) = (31, 0.5, "Ann", true, ["a", "b"])
    let (boss, huge, small): (String?, UInt64, Float) = (nil, .max, 0.1)
    #expect(try AnyCodable(age) == 31 && AnyCodable(price) == 0.5 && AnyCodable(name) == "Ann")
    #expect(try AnyCodable(isOpen) == true && AnyCodable(tags) == ["a", "b"] && AnyCodable(boss) == nil)
    #expect(try AnyCodable(huge) == .unsigned(.max) && AnyCodable(small) == 0.1)
    #expect(try AnyCodable(["limits": [1, nil]]) == ["limits": [1, nil]])
  }
}
