import Foundation

/// The values of several keys at one moment.
///
/// ```swift
/// let state = try await router.state(of: [.quietFrom, .quietUntil])
/// let night = try Night(from: state.get(.quietFrom), until: state.get(.quietUntil))
/// ```
public struct StorageState: Sendable {
  fileprivate var found: [StoreKey: (place: StorageRouter.Place, bytes: Data?)] = [:]

  /// The value that a key had, or its default where there was none.
  /// - Throws: `StorageError`: `notFound` when there is neither; `decodingFailed` when the stored bytes are not such a
  ///   value; `unregisteredKey` for a key that the state was not read for.
  public func get<K: StorageKey>(_ key: K) throws -> K.Value {
    let name = try StoreKey(key.name)
    guard let (place, bytes) = found[name], place.record.valueType == ObjectIdentifier(K.Value.self) else {
      throw StorageError(
        .unregisteredKey, "The key is not one of those that were read together.",
        advice: "Give it to state(of:), too.", key: name)
    }
    if let bytes { return try key.serializer.value(from: bytes, place) }
    if let value = key.defaultValue { return value }
    throw StorageError.absent(place)
  }
}

extension StorageRouter {
  /// Reads several keys together: all of one state of their home, where that has snapshots, as every home of this
  /// package has. A batch by anybody is in all of the values or in none.
  /// - Parameter keys: keys of one home.
  /// - Throws: `notAtomic` when the keys live in several homes, of which there is no common state; `StorageError` when
  ///   nobody can tell what is stored.
  public nonisolated func state(of keys: [any StorageKey]) async throws -> StorageState {
    var places: [Place] = []
    for key in keys { places.append(try await place(of: key)) }
    var state = StorageState()
    guard let store = places.first?.store else { return state }
    try refuseSeveralHomes(places, advice: "Read those of each home, or give the keys one domain.")
    let entries = try await store.engine.entries(places.map(\.key))
    for (place, entry) in zip(places, entries) { state.found[place.key] = (place, entry?.value) }
    return state
  }
}
