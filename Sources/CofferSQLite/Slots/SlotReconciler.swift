import CofferCore
import Foundation

/// Makes the journal say what others, who do not know us, have done to the values: an editor, a backup, `rm`.
///
/// What they did becomes a commit without transaction and origin, so that every subscriber of every process hears it
/// once.
final class SlotReconciler: Sendable {
  private struct Pending {
    var keys: Set<Key> = []
    var everything = false
    var isScheduled = false
  }

  /// How many values one commit takes in at most: they are read while the write lock is held.
  private static let chunk = 256

  private let home: SlotHome
  private let store: SQLiteStore
  private let quarantine: SlotQuarantine
  private let pending = Locked(Pending())
  private let queue: DispatchQueue

  init(home: SlotHome, store: SQLiteStore, quarantine: SlotQuarantine, queue: DispatchQueue) {
    self.home = home
    self.store = store
    self.quarantine = quarantine
    self.queue = queue
  }

  // MARK: When the home tells of changes

  /// Looks at a key soon, or at everything. Own changes are told, too, and cost a look at the journal and the slot.
  func hear(_ key: Key?) {
    if let key, !isSuspect(key) { return }
    let mustSchedule = pending.withLock { pending in
      if let key { pending.keys.insert(key) } else { pending.everything = true }
      defer { pending.isScheduled = true }
      return !pending.isScheduled
    }
    if mustSchedule { Task { [weak self] in await self?.lookAtPending() } }
  }

  private func lookAtPending() async {
    let (keys, everything) = pending.withLock { pending in
      defer { pending = Pending() }
      return (pending.keys, pending.everything)
    }
    // What fails here fails again where somebody reads the key, who then hears why.
    do {
      if everything {
        _ = try await scan()
      } else {
        _ = try await reconcile(Array(keys))
      }
    } catch {}
  }

  /// Whether a value may have been changed by others, by its stamp alone.
  func isSuspect(_ key: Key) -> Bool {
    do {
      let record = try store.readers.read { try $0.withValue(key) { _, bytes in SlotRecord(bytes) } }
      let presence = try home.slots.stamp(.value(key))
      guard let record = record ?? nil else { return presence != nil }
      return presence != SlotPresence(stamp: record.stamp)
    } catch {
      return true
    }
  }

  // MARK: Taking changes in

  /// Takes in what others have done to these values. Own commits that are under way are finished first.
  /// - Returns: How many values were different.
  @discardableResult
  func reconcile(_ keys: [Key]) async throws -> Int {
    var count = 0
    var rest = keys[...]
    while !rest.isEmpty {
      let chunk = Array(rest.prefix(Self.chunk))
      rest = rest.dropFirst(Self.chunk)
      count += try await reconcileChunk(chunk)
    }
    return count
  }

  private func reconcileChunk(_ keys: [Key]) async throws -> Int {
    try await store.writer.perform { [home] in try home.publish($0) }
    let header = TransactionHeader(origin: nil, transaction: nil, durability: .full)
    let (count, touched) = try await store.writer.transact(header) { [self] transaction in
      let waiting = try SlotJournal.intendedKeys(in: transaction)
      var count = 0
      var touched: [(Key, SlotID, SlotStamp?)] = []
      for key in keys where !waiting.contains(key) {
        switch try takeIn(key, transaction) {
        case .same: break
        case .touched(let id, let stamp): touched.append((key, id, stamp))
        case .changed: count += 1
        }
      }
      return (count, touched)
    }
    if !touched.isEmpty {
      try await store.writer.perform { committer in
        try committer.housekeep { _ in
          for (key, id, stamp) in touched { try SlotJournal.note(stamp, of: id, key, committer) }
        }
      }
    }
    return count
  }

  private enum Outcome {
    case same, changed
    /// The same bytes under another stamp: copied back from a backup, say.
    case touched(SlotID, SlotStamp?)
  }

  private func takeIn(_ key: Key, _ transaction: SQLiteTransaction) throws -> Outcome {
    let record = try SlotJournal.record(of: key, in: transaction)
    let content = try home.locating(key) { try home.slots.read(.value(key)) }
    guard let content else {
      guard record != nil else { return .same }
      try transaction.delete(key)
      return .changed
    }
    if let record {
      if record.matches(key, content.data) {
        return record.stamp == content.stamp ? .same : .touched(record.id, content.stamp)
      }
      if record.isDamaged(content) { return .same }  // The reader of the value is told.
    }
    try transaction.put(key, SlotRecord(id: home.nextID(), key: key, content: content).encoded)
    return .changed
  }

  // MARK: Looking at everything

  /// Compares all values with the journal by their stamps and takes in what is different. Linear in their number; reads
  /// only what differs.
  /// - Returns: How many values were different, and every slot of the home.
  func scan() async throws -> (changed: Int, slots: [Slot]) {
    let (suspects, slots) = try await onQueue { [self] in try findSuspects() }
    var changed = 0
    do {
      changed = try await reconcile(suspects)
    } catch {
      // One value that cannot be read must not hide the others.
      for key in suspects { changed += (try? await reconcileChunk([key])) ?? 0 }
    }
    return (changed, slots)
  }

  private func findSuspects() throws -> (suspects: [Key], slots: [Slot]) {
    var suspects: [Key] = []
    var known: Set<Key> = []
    let slots = try home.slots.list()
    try store.readers.read { reader in
      var after: Key?
      while true {
        let page = try reader.page(prefix: nil, after: after, limit: 1_000)
        guard let last = page.last else { return }
        for entry in page {
          known.insert(entry.key)
          let record = entry.value.withUnsafeBytes { SlotRecord($0) }
          let presence = try? home.slots.stamp(.value(entry.key))
          if record == nil || presence != SlotPresence(stamp: record?.stamp) { suspects.append(entry.key) }
        }
        after = last.key
      }
    }
    for case .value(let key) in slots where !known.contains(key) { suspects.append(key) }
    return (suspects, slots)
  }

  /// Runs something long beside the threads that tasks share.
  private func onQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  // MARK: After a crash

  /// Finishes and cleans up what writers have left that were killed, then takes in what others have changed meanwhile.
  func recover(journalWasMissing: Bool) async throws -> RecoveryReport {
    let waiting = try await store.writer.perform { [home] committer in
      let intents = try SlotJournal.intents(committer)
      if !intents.isEmpty { try home.publish(committer) }
      return intents.count
    }
    let (changed, slots) = try await scan()
    // First who is gone, then what the journal needs: who is gone commits nothing any more.
    let orphans = try await onQueue { [home] in home.orphans(slots) }
    try await store.writer.perform { [home] committer in
      let needed = Set(try SlotJournal.intents(committer).compactMap(\.staged))
      home.cleanUp(slots, orphans.subtracting(needed))
    }
    return RecoveryReport(
      backend: home.name, completed: waiting, edited: changed, wasRebuilt: journalWasMissing && changed > 0)
  }
}

extension SlotHome {
  /// What the dead have put aside.
  fileprivate func orphans(_ slots: [Slot]) -> Set<SlotID> {
    let staged = slots.compactMap { slot -> SlotID? in
      if case .staged(let id) = slot { id } else { nil }
    }
    let gone = Set(staged.map(\.owner)).filter(control.isGone)
    return Set(staged.filter { gone.contains($0.owner) })
  }

  /// Removes what the dead have put aside and no commit of theirs refers to, and what no snapshot can want.
  fileprivate func cleanUp(_ slots: [Slot], _ orphans: Set<SlotID>) {
    for id in orphans { try? self.slots.delete(.staged(id)) }
    if !control.hasSnapshots {
      for case .retained(let id) in slots { try? self.slots.delete(.retained(id)) }
    }
    control.forgetGoneOwners()
  }

  /// Without the journal nobody knows whether what the dead have put aside was committed: it goes to the quarantine.
  func quarantineOrphans() throws {
    for id in orphans(try slots.list()) {
      do {
        _ = try slots.move(.staged(id), to: .quarantined(id))
      } catch let error as StorageError where error.code == .notFound {
        // Its owner was not gone after all, only on its way out.
      }
    }
  }
}
