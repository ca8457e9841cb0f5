import CofferPersistence
import Foundation

// The code that document 1 prints. What makes it complete stands at the end of each type. The client with the macro is
// compiled in `Examples/ClientMacro`.

public actor FileStorageAdapter: StorageAdapter {
  private let directory: URL

  public func write(key: String, data: Data) async throws {
    try FileManager.default.createDirectory(
      at: directory,
      withIntermediateDirectories: true
    )
    let fileURL = directory.appendingPathComponent(key)
    try data.write(to: fileURL)
  }

  init(directory: URL) { self.directory = directory }
  public func read(key: String) async throws -> Data? {
    await exists(key: key) ? try Data(contentsOf: directory.appendingPathComponent(key)) : nil
  }
  public func delete(key: String) async throws {
    try FileManager.default.removeItem(at: directory.appendingPathComponent(key))
  }
  public func exists(key: String) async -> Bool {
    FileManager.default.fileExists(atPath: directory.appendingPathComponent(key).path)
  }
}

public actor AdapterBasedPersistence: PersistenceCapability {
  private let adapter: StorageAdapter
  private let encoder = JSONEncoder()
  private let decoder = JSONDecoder()

  public func save<T: Codable>(_ value: T, for key: String) async throws {
    let data = try encoder.encode(value)
    try await adapter.write(key: key, data: data)
  }

  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    guard let data = try await adapter.read(key: key) else {
      return nil
    }
    return try decoder.decode(type, from: data)
  }

  init(adapter: StorageAdapter) { self.adapter = adapter }
  public func delete(key: String) async throws { try await adapter.delete(key: key) }
  public func exists(key: String) async -> Bool { await adapter.exists(key: key) }
}

/// A client with the three members that document 1 prints.
actor PrintedClient: Persistable {
  static var persistedKeys: [String] { ["theme"] }
  let persistence: PersistenceCapability
  private var theme = "dark"

  init(persistence: PersistenceCapability) { self.persistence = persistence }
  func persistState() async throws { try await persistence.save(theme, for: "theme") }
}
