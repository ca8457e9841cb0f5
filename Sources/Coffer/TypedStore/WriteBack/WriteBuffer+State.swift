extension WriteBuffer {
  struct State: Sendable {
    /// The groups in the order of their commits.
    var groups: [WriteGroup] = []
    /// The number of groups, from the first, that the present run commits.
    var sealed = 0
    /// What was refused. Later writes of its keys join it. A run tries it again, after all others, if that is due.
    private(set) var held = HeldUnits()
    /// The number of groups, from the first, whose first writes may be earlier than those of the groups before them.
    private var unordered = 0
    var values: [StoreKey: Value] = [:]
    /// The bytes of the groups whose content was not refused.
    private(set) var used = 0
    /// The bytes of the refused ones that the present run tries again.
    private var retried = 0
    /// The number of the last write.
    var last: UInt64 = 0
    /// The number of the last write before which each was committed or given up.
    var done: UInt64 = 0
    /// The number of the last write up to which the present run, or an earlier one, tries all that are pending.
    private(set) var tried: UInt64 = 0
    var run: Task<Void, any Error>?
    var failure: StorageError?
    var isScheduled = false
    /// Whether the next run tries what was refused.
    var isRetryDue = false
    var isRetryScheduled = false
    /// The number of attempts by the timer since something else has asked for one.
    var retries = 0
    /// Whether a window has ended during the present run, so that another one follows at once.
    var isDue = false
    /// The number of calls that give up all writes once no run is under way.
    var waitingDiscards = 0
    var isClosed = false
    /// The calls that flush.
    private var flushes: [UInt64: Flush] = [:]
    private var nextFlush: UInt64 = 0

    var isEmpty: Bool { groups.isEmpty && held.isEmpty }
    /// The bytes of what was refused.
    var refused: Int { held.bytes + retried }
    var bytes: Int { used + refused }

    /// Adds a batch to the units with the same keys that were refused, or to the last group.
    /// - Parameter limit: the number of keys from which a group takes no further batch; 0 for none.
    mutating func add(_ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)], limit: Int) {
      last += 1
      for (operation, item) in zip(batch.operations, written) {
        var encoded: EncodedValue?
        if case .put(_, let data, let attributes) = operation { encoded = EncodedValue(data, attributes) }
        values[item.key] = Value(encoded: encoded, box: item.box, number: last)
      }
      if !held.isEmpty, written.contains(where: { held.contains($0.key) }) {
        var group = WriteGroup(transaction: batch.transaction, durability: batch.durability)
        group.add(batch, written, number: last)
        askForRetry()
        return held.hold(group)
      }
      let isOpen = groups.count > sealed
      if !isOpen || groups[groups.count - 1].transaction != batch.transaction
        || groups[groups.count - 1].items.count >= limit
      {
        groups.append(WriteGroup(transaction: batch.transaction, durability: batch.durability))
      }
      let before = groups[groups.count - 1].bytes
      groups[groups.count - 1].add(batch, written, number: last)
      used += groups[groups.count - 1].bytes - before
    }

    // MARK: A run

    /// Whether there is something that a run would try.
    var isReady: Bool { !groups.isEmpty || isRetryDue && !held.isEmpty }

    /// Makes the next run try what was refused.
    mutating func askForRetry() { (isRetryDue, retries) = (true, 0) }

    /// Makes all present groups those of a run, with the units that were refused before if they are due.
    mutating func seal() {
      if !held.isEmpty {
        // An older write of a key must not be committed after a newer one that is held.
        var count: Int
        repeat {
          count = groups.reduce(0) { $0 + $1.items.count }
          for position in groups.indices { holdDependents(at: position) }
        } while groups.reduce(0) { $0 + $1.items.count } != count
        groups.removeAll(where: \.isEmpty)
        unordered = min(unordered, groups.count)
      }
      if isRetryDue, !held.isEmpty {
        // The refused ones last: newer writes that joined them do not overtake those of other keys.
        groups += held.all
        retried = held.bytes
        held.removeAll()
        unordered = groups.count
      }
      isRetryDue = false
      sealed = groups.count
      if held.isEmpty { tried = last }
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
      uncount(group)
      for item in group.items where values[item.key].map({ $0.number <= item.last }) ?? false {
        values[item.key] = nil
      }
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
        uncount(refused)
        refused.refusal = error
        held.hold(refused)
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
      guard retried > 0 else { return }
      for unit in groups where unit.refusal != nil { held.hold(unit) }
      groups.removeAll { $0.refusal != nil }
      (retried, isRetryDue) = (0, true)
    }

    /// Holds the units of a group that have a key of a held one, whose order they must keep.
    private mutating func holdDependents(at position: Int) {
      guard !held.isEmpty else { return }
      let units = Set(groups[position].items.filter { held.contains($0.key) }.map(\.unit))
      guard !units.isEmpty else { return }
      let dependents = groups[position].split(off: units)
      uncount(dependents)
      // Their newer values may be what the store accepts.
      askForRetry()
      for unit in dependents.separated { held.hold(unit) }
    }

    private mutating func uncount(_ group: WriteGroup) {
      if group.refusal == nil { used -= group.bytes } else { retried -= group.bytes }
    }

    // MARK: What is done

    /// Whether every write up to a number was committed or given up, or was refused and has none of the keys.
    func isDone(_ target: UInt64, _ keys: [StoreKey]?) -> Bool {
      if done >= target { return true }
      guard let keys else { return false }
      // A run that tries the refused ones again has them among its groups.
      let isPending = groups.contains { group in
        group.first <= target && (group.refusal == nil || keys.contains(where: group.contains))
      }
      return !isPending && !keys.contains { key in held.unit(of: key).map { $0.first <= target } ?? false }
    }

    /// The error for which a unit with one of the keys was refused.
    func refusal(of keys: [StoreKey]?) -> StorageError? {
      let units = keys.map { $0.compactMap(held.unit) } ?? held.all
      return units.first?.refusal
        ?? groups.first { group in group.refusal != nil && keys?.contains(where: group.contains) ?? true }?.refusal
    }

    private mutating func noteDone() {
      let first = (groups.prefix(unordered + 1).map(\.first) + [held.first].compactMap(\.self)).min()
      done = first.map { $0 - 1 } ?? last
    }

    // MARK: Flushes and discards

    private struct Flush {
      let target: UInt64
      let keys: [StoreKey]?
      var isWhole = true
    }

    /// Notes that a call waits for the writes so far.
    mutating func beginFlush(_ keys: [StoreKey]?) -> (number: UInt64, target: UInt64) {
      nextFlush += 1
      flushes[nextFlush] = Flush(target: last, keys: keys)
      return (nextFlush, last)
    }

    /// Returns whether none of the writes was given up for which the call has waited.
    mutating func endFlush(_ number: UInt64) -> Bool { flushes.removeValue(forKey: number)?.isWhole ?? true }

    /// Gives up all writes, while no run is under way. Returns their keys.
    mutating func discard() -> [StoreKey] {
      for item in (groups + held.all).flatMap(\.items) {
        for (number, flush) in flushes where item.first <= flush.target && flush.keys?.contains(item.key) ?? true {
          flushes[number]?.isWhole = false
        }
      }
      let keys = values.keys.sorted()
      (groups, unordered, used) = ([], 0, 0)
      held.removeAll()
      (isRetryDue, retries) = (false, 0)
      values = [:]
      done = last
      if !keys.isEmpty { failure = nil }
      return keys
    }
  }
}
