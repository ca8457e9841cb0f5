import CofferCore

extension StorageConformance {
  /// The suite over two of the library's decorators, one in front of the other.
  package var twoDeep: StorageConformance {
    decorated { FaultInjectingEngine(try await reopened($0)) }
  }

  /// The same in the other order.
  package var twoDeepReversed: StorageConformance {
    decorated { try await reopened(FaultInjectingEngine($0)) }
  }
}

/// An engine that was opened late.
private func reopened(_ engine: any StorageEngine) async throws -> any StorageEngine {
  let reopening = ReopeningEngine(
    StorageError(.unavailable, "It is not there yet.", backend: engine.description),
    description: engine.description, capabilities: engine.capabilities
  ) { engine }
  _ = try await reopening.openBase()
  return reopening
}
