public import CofferCore

extension AdapterBasedPersistence {
  /// Whether the store can currently be read and written.
  public var isAvailable: Bool { get async { await currentAvailability.isUsable } }

  /// Whether the store can be read now, and why not, as far as it has reported.
  public nonisolated var currentAvailability: StoreAvailability {
    get async { await store.engine.currentAvailability }
  }

  /// Returns a stream of the store's availability: the current state first, then each change. Each call returns a new
  /// stream, which ends when the engine is closed.
  public nonisolated func availability() -> AsyncStream<StoreAvailability> { store.engine.availability() }
}
