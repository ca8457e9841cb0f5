import CofferCore
import CofferLocks

/// The schemas that the keys of a router declare, by their stores. An object of its own, which stores can hold without
/// holding the router.
final class DeclaredSchemas: Sendable {
  private struct State {
    var keys: [StoreKey: [KeyRegistry.Record]] = [:]
    var families: [KeyRegistry.Record] = []
  }

  private let state = Locked(State())

  /// Adds a key that is used or registered, or replaces an earlier declaration of it.
  func add(_ record: KeyRegistry.Record) {
    state.withLock { state in
      let isSame = { (other: KeyRegistry.Record) in other.key == record.key && other.location == record.location }
      if record.isFamily {
        state.families.removeAll(where: isSame)
        if record.schema != nil { state.families.append(record) }
      } else if record.schema != nil || state.keys[record.key] != nil {
        state.keys[record.key, default: []].removeAll(where: isSame)
        if record.schema != nil { state.keys[record.key, default: []].append(record) }
      }
    }
  }

  /// Returns the schema that the key of a name in a store, or its family, declares.
  func schema(of key: StoreKey, in location: DomainLocation) -> DeclaredSchema? {
    state.withLock { state in
      let known = (state.keys[key] ?? []) + state.families.filter { key.hasPrefix($0.key) }
      return known.first { $0.location == .located(location) }?.schema
    }
  }
}
