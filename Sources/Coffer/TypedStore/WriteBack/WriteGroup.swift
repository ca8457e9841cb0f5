/// Pending writes that become one commit.
///
/// Each belongs to a *unit*: the batches with which it shares a commit whatever happens, since they have keys in
/// common. A group whose content is refused is divided, but never a unit.
struct WriteGroup: Sendable {
  /// The newest write of a key.
  struct Item: Sendable {
    let key: StoreKey
    var operation: WriteBatch.Operation
    var box: (any AnyBox)?
    /// The number of one of the writes of its unit.
    var unit: UInt64
    /// The numbers of the first and the last of the writes of the key that it stands for.
    var first: UInt64
    var last: UInt64
  }

  private(set) var items: [Item] = []
  private(set) var transaction: TransactionID?
  private(set) var durability: StoreDurability
  private(set) var first = UInt64.max
  private(set) var last: UInt64 = 0
  private(set) var bytes = 0
  /// The number of units that were refused and taken out.
  var refusals = 0
  /// The error for which its only unit was refused.
  var refusal: StorageError?
  /// The index of the only item of each key.
  private var index: [StoreKey: Int] = [:]

  init(transaction: TransactionID?, durability: StoreDurability) {
    (self.transaction, self.durability) = (transaction, durability)
  }

  var isEmpty: Bool { items.isEmpty }
  var batch: WriteBatch { WriteBatch(items.map(\.operation), transaction: transaction, durability: durability) }
  var written: [(key: StoreKey, box: (any AnyBox)?)] { items.map { ($0.key, $0.box) } }

  func contains(_ key: StoreKey) -> Bool { index[key] != nil }
  func size(of key: StoreKey) -> Int { index[key].map { items[$0].operation.pendingSize } ?? 0 }

  /// Adds a batch. A later write of a key replaces an earlier one.
  mutating func add(_ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)], number: UInt64) {
    var unit: UInt64?
    for item in written {
      guard let known = index[item.key].map({ items[$0].unit }), known != unit else { continue }
      if let unit { for index in items.indices where items[index].unit == known { items[index].unit = unit } }
      unit = unit ?? known
    }
    for (operation, item) in zip(batch.operations, written) {
      insert(
        Item(
          key: item.key, operation: operation, box: item.box, unit: unit ?? number, first: number, last: number))
    }
    durability = max(durability, batch.durability)
  }

  /// Adds a write, of which a newer one of the same key leaves nothing.
  private mutating func insert(_ item: Item) {
    (first, last) = (min(first, item.first), max(last, item.last))
    guard let known = index[item.key] else {
      index[item.key] = items.count
      items.append(item)
      bytes += item.operation.pendingSize
      return
    }
    let other = items[known]
    items[known] = item.last >= other.last ? item : other
    items[known].first = min(item.first, other.first)
    bytes += items[known].operation.pendingSize - other.operation.pendingSize
  }

  // MARK: Units

  /// The units, in the order of their last writes.
  var units: [UInt64] {
    let last = Dictionary(items.map { ($0.unit, $0.last) }, uniquingKeysWith: max)
    return last.sorted { $0.value < $1.value }.map(\.key)
  }

  /// The unit of a key, or `nil` if the group does not have it.
  func unit(of key: StoreKey) -> UInt64? { index[key].map { items[$0].unit } }

  /// Removes units, and returns them as a group of their own.
  mutating func split(off units: Set<UInt64>) -> WriteGroup {
    var rest = WriteGroup(transaction: transaction, durability: durability)
    (rest.refusals, rest.refusal) = (refusals, refusal)
    var taken = WriteGroup(transaction: transaction, durability: durability)
    taken.refusal = refusal
    for item in items {
      if units.contains(item.unit) { taken.insert(item) } else { rest.insert(item) }
    }
    self = rest
    return taken
  }

  /// Each unit as a group of its own.
  var separated: [WriteGroup] {
    let empty = WriteGroup(transaction: transaction, durability: durability)
    var groups: [UInt64: WriteGroup] = [:]
    for item in items { groups[item.unit, default: empty].insert(item) }
    return Array(groups.values)
  }

  /// Adds another group to the only unit of this one. The newer of two writes of a key stays, and the transaction of
  /// the newer group.
  mutating func join(_ other: WriteGroup) {
    if other.last > last { transaction = other.transaction }
    durability = max(durability, other.durability)
    for item in other.items { insert(item) }
    for index in items.indices { items[index].unit = last }
  }
}

extension WriteBatch.Operation {
  /// The bytes for which an operation counts while it is pending.
  fileprivate var pendingSize: Int {
    switch self {
    case .put(let key, let value, _): value.count + key.size
    case .delete(let key): key.size
    case .clear, .require, .putRecord, .deleteRecord, .requireRecord: 0
    }
  }
}

extension WriteBatch {
  /// The bytes for which the batch counts while it is pending.
  var pendingSize: Int { operations.reduce(0) { $0 + $1.pendingSize } }
}
