public import CofferCore

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
  public static func service(over engine: any StorageEngine, origin: Origin = Origin()) -> EngineVaultService {
    EngineVaultService(engine: engine, origin: origin)
  }

  // PLUG IN SQLITE HERE: `database(at path: String, configuration: SQLiteConfiguration = .init()) async throws ->
  // EngineVaultService`; open with `try await VaultOperation.open.run { try await SQLiteEngine.open(...) }`, which gives
  // failures the vault's error type.
}
