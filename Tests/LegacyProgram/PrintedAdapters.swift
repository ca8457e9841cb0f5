import Foundation

// The code that the source documents print, with what makes it compile here: no test may depend on Coffer's own idea of
// these formats.

// Document 1, "Storage Adapter Pattern".
protocol StorageAdapter: Actor {
  func read(key: String) async throws -> Data?
  func write(key: String, data: Data) async throws
}

actor FileStorageAdapter: StorageAdapter {
  private let directory: URL

  init(directory: URL) { self.directory = directory }

  func read(key: String) async throws -> Data? { try? Data(contentsOf: directory.appendingPathComponent(key)) }

  func write(key: String, data: Data) async throws {
    try FileManager.default.createDirectory(
      at: directory,
      withIntermediateDirectories: true
    )
    let fileURL = directory.appendingPathComponent(key)
    try data.write(to: fileURL)
  }
}

actor UserDefaultsStorageAdapter: StorageAdapter {
  private let userDefaults: UserDefaults
  private let keyPrefix: String

  init(suite: String, keyPrefix: String = "axiom.") {
    userDefaults = UserDefaults(suiteName: suite) ?? .standard
    self.keyPrefix = keyPrefix
  }

  func read(key: String) async throws -> Data? { userDefaults.data(forKey: keyPrefix + key) }

  func write(key: String, data: Data) async throws {
    userDefaults.set(data, forKey: keyPrefix + key)
    userDefaults.synchronize()
  }
}

// Document 1, "Adapter-Based Persistence".
actor AdapterBasedPersistence {
  private let adapter: any StorageAdapter
  private let encoder = JSONEncoder()

  init(adapter: any StorageAdapter) { self.adapter = adapter }

  func save<T: Codable>(_ value: T, for key: String) async throws {
    let data = try encoder.encode(value)
    try await adapter.write(key: key, data: data)
  }
}

/// What document 0's original stores for each value.
struct StoredObject: Codable {
  let value: Data
  let transactionID: UUID

  /// The bytes that it stores for the data of a value.
  static func stored(_ value: Data) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try encoder.encode(StoredObject(value: value, transactionID: UUID()))
  }
}
