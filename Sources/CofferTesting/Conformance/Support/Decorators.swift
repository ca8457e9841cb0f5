import CofferCore

extension StorageConformance {
  /// The suite with the engine behind a `RetryingEngine`, and that behind a ``FaultInjectingEngine``.
  package var twoDeep: StorageConformance {
    decorated { FaultInjectingEngine(try await reopened($0)) }
  }

  /// The suite with the two decorators of ``twoDeep`` in the reverse order.
  package var twoDeepReversed: StorageConformance {
    decorated { try await reopened(FaultInjectingEngine($0)) }
  }
}

/// Returns the engine behind a `RetryingEngine` whose first attempt to open it failed.
private func reopened(_ engine: any StorageEngine) async throws -> any StorageEngine {
  let reopening = RetryingEngine(
    StorageError(.unavailable, "It is not there yet.", location: engine.description),
    description: engine.description, capabilities: engine.capabilities
  ) { engine }
  _ = try await reopening.openBase()
  return reopening
}
