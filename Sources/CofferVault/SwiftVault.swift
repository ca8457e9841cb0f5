public import CofferCore
public import CofferSQLite

/// A namespace for functions that create vault services. Create one service per store and share it.
///
/// ```swift
/// let service = SwiftVault.memory()
/// ```
public enum SwiftVault {
  /// Returns a vault in memory, for tests and previews. Its values are lost when it is released.
  /// - Parameter name: the name of the store in error messages.
  public static func memory(name: String = "memory") -> EngineVaultService {
    service(over: MemoryEngine(name: name))
  }

  /// Returns a vault over any engine. Two services over one engine receive each other's changes in `externalChanges`.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - origin: the origin of the service's commits; a new one by default.
  public static func service(over engine: any StorageEngine, origin: StoreOrigin = StoreOrigin()) -> EngineVaultService
  {
    EngineVaultService(engine: engine, origin: origin)
  }

  /// Opens a vault in an SQLite database file. Several processes can use the same file.
  /// - Parameters:
  ///   - path: the path of the file; the file and its directory are created if they are missing.
  ///   - configuration: the settings with which the store is opened.
  /// - Throws: ``SwiftVaultError`` `.initializationFailed`, with a message that states the cause and the remedy.
  public static func database(
    at path: String, configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration()
  ) async throws -> EngineVaultService {
    try await VaultOperation.open.run {
      service(over: try await SQLiteEngine.open(at: path, configuration: configuration))
    }
  }
}
