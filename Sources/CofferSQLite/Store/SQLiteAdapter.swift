public import CofferCore
public import Foundation

/// A `StorageAdapter` that uses a ``SQLiteEngine``. This is the default embedded adapter.
public actor SQLiteAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// Creates an adapter for an open engine.
  public init(engine: SQLiteEngine) {
    self.engine = engine
  }

  /// Opens the store at `path` with the default configuration.
  /// - Throws: The errors of ``SQLiteEngine/open(at:configuration:)-(String,_)``.
  public init(path: String) async throws {
    engine = try await SQLiteEngine.open(at: path)
  }

  /// Opens the store at a file URL with the default configuration.
  /// - Throws: The errors of opening a path; `StorageError` with code `inputOutput` if `url` is not a file URL.
  public init(url: URL) async throws {
    engine = try await SQLiteEngine.open(at: url)
  }
}
