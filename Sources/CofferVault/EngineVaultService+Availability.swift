public import CofferCore

extension EngineVaultService {
  /// Whether the store can be read now, and why not, as far as it has reported.
  public var currentAvailability: StoreAvailability { get async { await engine.currentAvailability } }

  /// Returns a stream of the store's availability: the current state first, then each change. Each call returns a new
  /// stream, which ends when the engine is closed.
  public func availability() -> AsyncStream<StoreAvailability> { engine.availability() }
}
