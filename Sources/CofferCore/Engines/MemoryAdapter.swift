/// A ``StorageAdapter`` over a ``MemoryEngine`` (document 1).
public actor MemoryAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// An empty store of its own, or a handle on an engine that others use too.
  public init(engine: MemoryEngine = MemoryEngine()) {
    self.engine = engine
  }

  /// Removes everything.
  public func clear() async throws {
    try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin)
  }
}
