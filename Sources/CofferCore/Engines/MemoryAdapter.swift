/// A ``StorageAdapter`` that keeps its values in a ``MemoryEngine``.
public actor MemoryAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// Creates an adapter over a new, empty store, or over an engine that is shared with other code.
  public init(engine: MemoryEngine = MemoryEngine()) {
    self.engine = engine
  }

  /// Removes every value.
  /// - Throws: ``StorageError`` with code ``StorageError/Code-swift.struct/closed`` if the engine is closed.
  public func clear() async throws {
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin)
  }
}
