import CofferCore

/// The order of activation of capabilities: each after those that it depends on, otherwise as they were registered.
struct CapabilityOrder {
  let names: [CapabilityID]

  /// Computes the order.
  /// - Throws: `StorageError` with code `unsupported` for a dependency that is not registered, and for a cycle.
  init(_ registered: [(name: CapabilityID, dependencies: [CapabilityID])]) throws {
    let known = Set(registered.map(\.name))
    for (name, dependencies) in registered {
      if let missing = dependencies.first(where: { !known.contains($0) }) {
        throw StorageError(
          .unsupported, "The capability '\(name)' depends on '\(missing)', which is not registered.",
          advice: "Register it before the start. Nothing was activated.")
      }
    }
    var ordered: [CapabilityID] = []
    var done: Set<CapabilityID> = []
    var waiting = registered
    while !waiting.isEmpty {
      guard let index = waiting.firstIndex(where: { done.isSuperset(of: $0.dependencies) }) else {
        let names = waiting.map { "'\($0.name)'" }.joined(separator: ", ")
        throw StorageError(
          .unsupported, "Capabilities depend on each other in a cycle: \(names) are in it or depend on it.",
          advice: "Remove one of the dependencies. Nothing was activated.")
      }
      let name = waiting.remove(at: index).name
      ordered.append(name)
      done.insert(name)
    }
    names = ordered
  }
}
