public import CofferCore

/// A four-method adapter over a store in a PostgreSQL server.
///
/// ```swift
/// let adapter = try await PostgreSQLAdapter("postgresql://db.example.com/app?store=shop")
/// try await adapter.write(key: "theme", data: Data("dark".utf8))
/// ```
public actor PostgreSQLAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin: StoreOrigin

  /// Opens a store, with the parameters and errors of ``PostgreSQLEngine/open(_:store:configuration:)``.
  public init(
    _ location: String, store: String? = nil,
    configuration: PostgreSQLEngine.Configuration = PostgreSQLEngine.Configuration()
  ) async throws {
    engine = try await PostgreSQLEngine.open(location, store: store, configuration: configuration)
    origin = StoreOrigin()
  }

  /// Closes the store.
  public func close() async throws { try await engine.close() }
}
