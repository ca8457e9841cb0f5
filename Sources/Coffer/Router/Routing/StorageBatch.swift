public import Foundation

/// Several changes that happen at once or not at all.
///
/// ```swift
/// try await router.batch { batch in
///   batch.set("Ann", for: .name)
///   batch.remove(.nickname)
/// }
/// ```
public struct StorageBatch: Sendable {
  /// A change of a key whose place is known.
  struct Step: Sendable {
    let place: StorageRouter.Place
    let operation: WriteBatch.Operation
    let box: (any AnyBox)?
  }

  fileprivate var steps: [@Sendable (StorageRouter) async throws -> Step] = []

  /// Stores a value.
  public mutating func set<K: StorageKey>(_ value: K.Value, for key: K) {
    steps.append { try await $0.step(value, key) }
  }

  /// Removes a value. A missing one is no error.
  public mutating func remove<K: StorageKey>(_ key: K) {
    steps.append { router in
      let place = try await router.place(of: key)
      return Step(place: place, operation: .delete(place.key), box: nil)
    }
  }
}

extension StorageRouter {
  /// Changes several keys in one commit, whose transaction all their changes carry. Where a key is given twice the last
  /// one wins.
  /// - Parameters:
  ///   - durability: what the values have survived when this returns.
  ///   - transaction: the logical change that the batch is; a fresh one unless given.
  ///   - build: says the changes.
  /// - Throws: `notAtomic` when the keys live in several homes, which cannot be changed at once; `StorageError`.
  ///   Nothing was written then, except after `outcomeUnknown` and `unfinished`.
  public nonisolated func batch(
    durability: StoreDurability = .full, transaction: TransactionID? = nil, _ build: (inout StorageBatch) throws -> Void
  ) async throws {
    var changes = StorageBatch()
    try build(&changes)
    var steps: [StorageBatch.Step] = []
    for step in changes.steps { steps.append(try await step(self)) }
    guard let store = steps.first?.place.store else { return }
    try refuseSeveralHomes(
      steps.map(\.place), advice: "Make a batch for each home, or give the keys one domain. Nothing was written.")
    let batch = WriteBatch(steps.map(\.operation), transaction: transaction, durability: durability)
    try await store.commit(batch, steps.map { ($0.place.key, $0.box) })
    await wrote(steps.map(\.place.record))
  }

  fileprivate nonisolated func step<K: StorageKey>(_ value: K.Value, _ key: K) async throws -> StorageBatch.Step {
    let place = try await place(of: key)
    let data = try key.serializer.bytes(of: value, place)
    try checkSize(data.count, place.record)
    return StorageBatch.Step(place: place, operation: .put(place.key, data, place.attributes), box: Box(value))
  }

  nonisolated func refuseSeveralHomes(_ places: [Place], advice: String) throws {
    let stores = places.map(\.store)
    guard let first = stores.first, let other = stores.first(where: { $0 !== first }) else { return }
    throw StorageError(
      .notAtomic,
      "The keys live in several homes, of which nothing is done at once: \(first.engine.description) and "
        + "\(other.engine.description).",
      advice: advice)
  }
}
