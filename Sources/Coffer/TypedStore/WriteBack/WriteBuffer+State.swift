extension WriteBuffer {
  struct State: Sendable {
    /// The groups in the order of their commits.
    var groups: [WriteGroup] = []
    /// The number of groups, from the first, that the present run commits.
    var sealed = 0
    /// Units whose content was refused, without common keys. Later writes of their keys join them, and the next run
    /// tries them again, after all others.
    var held: [WriteGroup] = []
    /// The number of groups, from the first, whose first writes may be earlier than those of the groups before them.
    private var unordered = 0
    var values: [StoreKey: Value] = [:]
    var bytes = 0
    /// The number of the last write.
    var last: UInt64 = 0
    /// The number of the last write before which each was committed or given up.
    var done: UInt64 = 0
    /// The number of the last write that the present run tries, or the last one has tried.
    private(set) var tried: UInt64 = 0
    var run: Task<Void, any Error>?
    var failure: StorageError?
    var isScheduled = false
    /// Whether a window has ended during the present run, so that another one follows at once.
    var isDue = false
    /// The number of calls that give up all writes once no run is under way.
    var waitingDiscards = 0
    var isClosed = false
    /// The writes that were given up: those after `kept`, up to `through`.
    var discards: [(kept: UInt64, through: UInt64)] = []

    var isEmpty: Bool { groups.isEmpty && held.isEmpty }
    var heldBytes: Int { held.reduce(0) { $0 + $1.bytes } }

    /// Adds a batch to the units with the same keys that were refused, or to the last group.
    /// - Parameter limit: the number of keys from which a group takes no further batch; 0 for none.
    mutating func add(_ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)], limit: Int) {
      last += 1
      for (operation, item) in zip(batch.operations, written) {
        var encoded: EncodedValue?
        if case .put(_, let data, let attributes) = operation { encoded = EncodedValue(data, attributes) }
        values[item.key] = Value(encoded: encoded, box: item.box, number: last)
      }
      if written.contains(where: { isHeld($0.key) }) {
        var group = WriteGroup(transaction: batch.transaction, durability: batch.durability)
        group.add(batch, written, number: last)
        return hold(group)
      }
      let isOpen = groups.count > sealed
      if !isOpen || groups[groups.count - 1].transaction != batch.transaction
        || groups[groups.count - 1].items.count >= limit
      {
        groups.append(WriteGroup(transaction: batch.transaction, durability: batch.durability))
      }
      let before = groups[groups.count - 1].bytes
      groups[groups.count - 1].add(batch, written, number: last)
      bytes += groups[groups.count - 1].bytes - before
    }

    // MARK: A run

    /// Makes all present groups those of a run, with the units that were refused before.
    mutating func seal() {
      if !held.isEmpty {
        // An older write of a key must not be committed after a newer one that is held.
        var count: Int
        repeat {
          count = groups.reduce(0) { $0 + $1.items.count }
          for position in groups.indices { holdDependents(at: position) }
        } while groups.reduce(0) { $0 + $1.items.count } != count
        // The refused ones last: newer writes that joined them do not overtake those of other keys.
        groups = groups.filter { !$0.isEmpty } + held
        held = []
        unordered = groups.count
      }
      sealed = groups.count
      tried = last
    }

    /// Returns the next group that the run commits.
    mutating func nextSealed() -> WriteGroup? {
      while sealed > 0 {
        holdDependents(at: 0)
        if !groups[0].isEmpty { return groups[0] }
        removeFirst()
      }
      return nil
    }

    /// Removes the first group, which was committed.
    mutating func finishFirst() {
      let group = groups[0]
      removeFirst()
      bytes -= group.bytes
      forget([group])
      noteDone()
    }

    private mutating func removeFirst() {
      groups.removeFirst()
      sealed -= 1
      unordered = max(0, unordered - 1)
    }

    /// Divides the first group, whose content was refused: the unit that the error names is held, or each half is
    /// committed by itself.
    mutating func divideFirst(_ error: StorageError) {
      let units = groups[0].units
      if let unit = units.count == 1 ? units[0] : error.key.flatMap({ groups[0].unit(of: $0) }) {
        var refused = groups[0].split(off: [unit])
        refused.refusal = error
        hold(refused)
        guard !groups[0].isEmpty else { return removeFirst() }
        groups[0].refusals += 1
        // Where many are refused, the rest is not tried as a whole after each of them.
        guard groups[0].refusals > 3 else { return }
      }
      let rest = groups[0].units
      guard rest.count > 1 else { return }
      groups[0].refusals = 0
      let half = groups[0].split(off: Set(rest[(rest.count / 2)...]))
      groups.insert(half, at: 1)
      sealed += 1
      unordered = max(unordered, 1) + 1
    }

    /// Ends a run. The refused units that it has not tried are held again, so that no other writes join their groups.
    mutating func unseal() {
      sealed = 0
      run = nil
      let refused = groups.filter { $0.refusal != nil }
      groups.removeAll { $0.refusal != nil }
      for unit in refused { hold(unit) }
    }

    // MARK: Refused units

    func isHeld(_ key: StoreKey) -> Bool { held.contains { $0.contains(key) } }

    /// Holds a unit, together with the held ones that have one of its keys.
    private mutating func hold(_ unit: WriteGroup) {
      var whole = unit
      held.removeAll { other in
        guard other.shares(with: unit) else { return false }
        whole.join(other)
        whole.refusal = whole.refusal ?? other.refusal
        return true
      }
      held.append(whole)
      bytes = groups.reduce(0) { $0 + $1.bytes } + heldBytes
    }

    /// Holds the units of a group that have a key of a held one, whose order they must keep.
    private mutating func holdDependents(at position: Int) {
      guard !held.isEmpty else { return }
      let units = Set(groups[position].items.filter { isHeld($0.key) }.map(\.unit))
      for unit in units { hold(groups[position].split(off: [unit])) }
    }

    // MARK: What is done

    /// Whether every write up to a number was committed or given up, or was refused and has none of the keys.
    func isDone(_ target: UInt64, _ keys: [StoreKey]?) -> Bool {
      if done >= target { return true }
      guard let keys else { return false }
      // A run that tries the refused ones again has them among its groups.
      return !(held + groups).contains { group in
        group.first <= target && (group.refusal == nil || keys.contains(where: group.contains))
      }
    }

    /// The error for which a unit with one of the keys was refused.
    func refusal(of keys: [StoreKey]?) -> StorageError? {
      (held + groups).first { group in
        group.refusal != nil && keys?.contains(where: group.contains) ?? true
      }?.refusal
    }

    private mutating func noteDone() {
      let first = (held.map(\.first) + groups.prefix(unordered + 1).map(\.first)).min()
      done = first.map { $0 - 1 } ?? last
    }

    private mutating func forget(_ groups: [WriteGroup]) {
      for item in groups.lazy.flatMap(\.items) where values[item.key].map({ $0.number <= item.last }) ?? false {
        values[item.key] = nil
      }
    }

    /// Removes all groups that no run commits, and returns their keys.
    mutating func discard() -> [StoreKey] {
      let given = held + groups[sealed...]
      guard let first = given.map(\.first).min() else { return [] }
      groups.removeSubrange(sealed...)
      held = []
      unordered = min(unordered, groups.count)
      bytes = groups.reduce(0) { $0 + $1.bytes }
      forget(given)
      discards.append((first - 1, last))
      noteDone()
      failure = nil
      return Set(given.flatMap { $0.items.map(\.key) }).sorted()
    }
  }
}
