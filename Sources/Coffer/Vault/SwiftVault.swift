public import CofferCore
public import CofferSQLite

/// Makes vault services (document 0). Make one per store and share it.
///
/// ```swift
/// let service = SwiftVault.memory()
/// ```
public enum SwiftVault {
  /// A vault in memory, gone when it is released: for tests and previews.
  /// - Parameter name: what messages call it.
  public static func memory(name: String = "memory") -> EngineVaultService {
    service(over: MemoryEngine(name: name))
  }

  /// A vault over any engine. Two services over one engine hear each other in `externalChanges`.
  /// - Parameters:
  ///   - engine: where the bytes are kept.
  ///   - origin: the handle that the service writes as; a fresh one unless given.
  public static func service(over engine: any StorageEngine, origin: StoreOrigin = StoreOrigin()) -> EngineVaultService
  {
    EngineVaultService(engine: engine, origin: origin)
  }

  /// A vault in an SQLite database file, safe with other processes on the same file.
  /// - Parameters:
  ///   - path: the file; it and its directory are made if they are missing.
  ///   - configuration: how the store is opened.
  /// - Throws: ``SwiftVaultError`` `.initializationFailed`, with what happened and what to do.
  public static func database(
    at path: String, configuration: SQLiteConfiguration = SQLiteConfiguration()
  ) async throws -> EngineVaultService {
    try await VaultOperation.open.run {
      service(over: try await SQLiteEngine.open(at: path, configuration: configuration))
    }
  }
}
