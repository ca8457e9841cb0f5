/// The pending writes whose content was refused: units without common keys.
struct HeldUnits: Sendable {
  /// Each by the number of its last write.
  private var units: [UInt64: WriteGroup] = [:]
  /// The unit of each key.
  private var index: [StoreKey: UInt64] = [:]
  private(set) var bytes = 0

  var isEmpty: Bool { units.isEmpty }
  /// The units in the order of their last writes.
  var all: [WriteGroup] { units.sorted { $0.key < $1.key }.map(\.value) }
  var first: UInt64? { units.values.lazy.map(\.first).min() }

  func contains(_ key: StoreKey) -> Bool { index[key] != nil }
  func unit(of key: StoreKey) -> WriteGroup? { index[key].flatMap { units[$0] } }

  /// Holds a unit, together with those that have one of its keys, of which it inherits the refusal if it has none.
  mutating func hold(_ unit: WriteGroup) {
    var whole = unit
    for item in unit.items {
      guard let number = index[item.key], let other = units.removeValue(forKey: number) else { continue }
      bytes -= other.bytes
      whole.join(other)
      whole.refusal = whole.refusal ?? other.refusal
    }
    units[whole.last] = whole
    for item in whole.items { index[item.key] = whole.last }
    bytes += whole.bytes
  }

  mutating func removeAll() { self = HeldUnits() }

  /// Returns the number of bytes by which a batch enlarges the units; `nil` if it has none of their keys.
  func growth(by batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)]) -> Int? {
    guard !isEmpty else { return nil }
    let replaced = Set(written.map(\.key)).compactMap { key in unit(of: key)?.size(of: key) }
    return replaced.isEmpty ? nil : batch.pendingSize - replaced.reduce(0, +)
  }
}
