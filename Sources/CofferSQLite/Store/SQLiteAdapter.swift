public import CofferCore

/// A `StorageAdapter` over a ``SQLiteEngine`` (document 1): the embedded default.
public actor SQLiteAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// A handle on an open engine.
  public init(engine: SQLiteEngine) {
    self.engine = engine
  }

  /// Opens the store at `path`; throws what ``SQLiteEngine/open(at:configuration:)`` throws.
  public init(path: String) async throws {
    engine = try await SQLiteEngine.open(at: path)
  }
}
