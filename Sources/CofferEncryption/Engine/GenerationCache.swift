/// A cache of bounded size. Values that were not used while the young generation filled up are dropped with the old
/// one.
struct GenerationCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var young: [Key: Value] = [:]
  private var old: [Key: Value] = [:]
  private let generationSize: Int

  /// - Parameter capacity: the maximum number of values.
  init(capacity: Int) { generationSize = max(1, capacity / 2) }

  mutating func value(_ key: Key) -> Value? {
    if let value = young[key] { return value }
    guard let value = old[key] else { return nil }
    insert(value, for: key)
    return value
  }

  mutating func insert(_ value: Value, for key: Key) {
    if young.count >= generationSize {
      old = young
      young.removeAll(keepingCapacity: true)
    }
    young[key] = value
  }
}
