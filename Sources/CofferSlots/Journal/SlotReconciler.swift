import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

/// Makes the journal say what others, who do not know us, have done to the values: an editor, a backup, `rm`.
///
/// What they did becomes a commit without transaction and origin, so that every subscriber of every process hears it
/// once.
final class SlotReconciler: Sendable {
  private struct Pending {
    var keys: Set<StoreKey> = []
    var everything = false
    var isScheduled = false
  }

  /// How many values one commit takes in at most: they are read while the write lock is held.
  private static let chunk = 256
  /// The same in bytes that are read.
  private static let chunkBytes = 32 << 20

  private let home: SlotHome
  private let journal: SQLiteEngine
  private let quarantine: SlotQuarantine
  private let pending = Locked(Pending())
  private let queue: DispatchQueue
  /// Called when what the home has told of could not be looked at, since the home is away.
  let missed = Locked<(@Sendable () -> Void)?>(nil)

  init(home: SlotHome, journal: SQLiteEngine, quarantine: SlotQuarantine, queue: DispatchQueue) {
    self.home = home
    self.journal = journal
    self.quarantine = quarantine
    self.queue = queue
  }

  // MARK: When the home tells of changes

  /// Looks at a key soon, or at everything. Own changes are told, too, and cost a look at the journal and the slot.
  func hear(_ event: SlotEvent) {
    let mustSchedule = pending.withLock { pending in
      switch event {
      case .changed(let key): pending.keys.insert(key)
      case .anything: pending.everything = true
      case .availability: return false
      }
      defer { pending.isScheduled = true }
      return !pending.isScheduled
    }
    // A moment later, so that a burst is looked at once: most of it is our own.
    if mustSchedule { queue.asyncAfter(deadline: .now() + .milliseconds(1)) { [weak self] in self?.lookAtPending() } }
  }

  private func lookAtPending() {
    let heard = pending.withLock { pending in
      defer { pending = Pending() }
      return pending
    }
    let suspects = heard.everything ? [] : heard.keys.filter(isSuspect)
    guard heard.everything || !suspects.isEmpty else { return }
    Task {
      // What fails here fails again where somebody reads the key, who then hears why; subscribers would hear nothing.
      do {
        if heard.everything { _ = try await scan() } else { try await reconcile(suspects) }
      } catch {
        if error.isAbsence || (error as? StorageError)?.code == .busy { missed.withLock { $0 }?() }
      }
    }
  }

  /// Whether a value may have been changed by others: by its stamp, or, where the home has none, by its content.
  func isSuspect(_ key: StoreKey) -> Bool {
    do {
      let line = try journal.read { try $0.withValue(key) { _, bytes in SlotRecord(bytes) } }
      let presence = try home.slots.stamp(.value(key))
      guard let line else { return presence != nil }
      guard let record = line else { return true }
      return isSuspect(key, record, presence)
    } catch {
      return true
    }
  }

  private func isSuspect(_ key: StoreKey, _ record: SlotRecord, _ presence: SlotPresence?) -> Bool {
    guard presence != nil, record.stamp == nil else { return presence != SlotPresence(stamp: record.stamp) }
    guard let content = try? home.slots.read(.value(key)) else { return true }
    return !home.matches(record, key, content) || record.attributes.merging(content.attributes) != record.attributes
  }

  // MARK: Taking changes in

  /// What became of some keys.
  struct Outcome: Sendable {
    /// How many were different.
    var changed = 0
    /// Those whose commits could not be carried out in their places: what is there is older than the journal.
    var waiting: Set<StoreKey> = []
    /// Those whose newest values are lost.
    var lost: Set<StoreKey> = []
    fileprivate var noted: [(StoreKey, SlotRecord)] = []
    fileprivate var looked = 0
  }

  /// Takes in what others have done to these values. Own commits that are under way are finished first.
  /// - Parameter skipped: with which errors a value that cannot be read is passed over; its readers are told.
  @discardableResult
  func reconcile(_ keys: [StoreKey], skipping skipped: Set<StorageError.Code> = []) async throws -> Outcome {
    var total = Outcome()
    var rest = keys[...]
    while !rest.isEmpty {
      let outcome = try await reconcileSome(Array(rest.prefix(Self.chunk)), skipped)
      rest = rest.dropFirst(outcome.looked)
      total.changed += outcome.changed
      total.waiting.formUnion(outcome.waiting)
      total.lost.formUnion(outcome.lost)
    }
    return total
  }

  private func reconcileSome(_ keys: [StoreKey], _ skipped: Set<StorageError.Code>) async throws -> Outcome {
    try await journal.perform { [home] in try home.publish($0) }
    let outcome = try await journal.transact(TransactionHeader(origin: nil, durability: .full)) { [self] transaction in
      let waiting = try SlotJournal.intendedKeys(in: transaction, of: home.name)
      var outcome = Outcome()
      var bytes = 0
      for key in keys where bytes < Self.chunkBytes {
        outcome.looked += 1
        if waiting.contains(key) {
          outcome.waiting.insert(key)
          continue
        }
        do {
          bytes += try takeIn(key, transaction, &outcome)
        } catch let error as StorageError where error.key != nil && skipped.contains(error.code) {}
      }
      return outcome
    }
    if !outcome.noted.isEmpty {
      try await journal.perform { committer in
        try committer.housekeep {
          for (key, record) in outcome.noted { try SlotJournal.note(record, key, committer) }
        }
      }
    }
    return outcome
  }

  /// Compares a value with the journal and makes the journal right; returns how many bytes it has read for it.
  private func takeIn(_ key: StoreKey, _ transaction: SQLiteTransaction, _ outcome: inout Outcome) throws -> Int {
    let line = try SlotJournal.line(of: key, in: transaction)
    let (content, isCopy) = try home.place(of: key)
    let size = content?.data.count ?? 0
    if case .record(let record) = line, keep(record, key, content, isCopy: isCopy, &outcome) { return size }
    // What a copy has beyond the journal was removed after it was made.
    if case .none = line, isCopy, !home.hasNewJournal { return size }
    guard let content else {
      if case .none = line { return 0 }
      try transaction.delete(key)
      outcome.changed += 1
      return 0
    }
    try transaction.put(key, home.record(home.nextID(), key, content).encoded)
    outcome.changed += 1
    return content.data.count
  }

  /// Whether what is recorded of a value stays, since nobody has edited the value.
  private func keep(
    _ record: SlotRecord, _ key: StoreKey, _ content: SlotContent?, isCopy: Bool, _ outcome: inout Outcome
  ) -> Bool {
    if let content {
      // The same bytes under another stamp, or a version that was lost: copied back from a backup, say.
      let isBack = record.loss != .none && content.version == record.id
      if isBack || home.matches(record, key, content) {
        let present = home.record(record.id, key, content, record.attributes)
        if present != record { outcome.noted.append((key, present)) }
        return true
      }
      if record.loss == .none, home.isDamaged(record, content) { return true }  // The reader of the value is told.
    }
    if home.isStillLost(record, key, content) {
      outcome.lost.insert(key)
      return true
    }
    guard isCopy, let lost = home.record(record, lostIn: content, key) else { return false }
    outcome.lost.insert(key)
    outcome.noted.append((key, lost))
    return true
  }

  // MARK: Looking at everything

  /// Compares all values with the journal by their stamps and takes in what is different. Linear in their number; reads
  /// only what differs. A value that cannot be read does not hide the others.
  /// - Returns: What was different, and every slot of the home.
  func scan() async throws -> (outcome: Outcome, slots: [Slot]) {
    let (suspects, slots) = try await onQueue { [self] in try findSuspects() }
    return (try await reconcile(suspects, skipping: StorageError.aboutValues), slots)
  }

  private func findSuspects() throws -> (suspects: [StoreKey], slots: [Slot]) {
    var suspects: [StoreKey] = []
    var known: Set<StoreKey> = []
    let slots = try home.slots.list()
    let listed = Set(slots.compactMap { if case .value(let key) = $0 { key } else { nil } })
    let stamps = try home.slots.stamps()
    var nameless: [StoreKey] = []
    try journal.read { reader in
      try reader.forEachValue { key, value in
        known.insert(key)
        guard let record = value.flatMap({ SlotRecord($0) }), record.loss == .none else { return suspects.append(key) }
        let presence = stamps.map { $0[key] } ?? (try? home.slots.stamp(.value(key)))
        if presence != nil, !listed.contains(key) { nameless.append(key) }
        if isSuspect(key, record, presence) { suspects.append(key) }
      }
    }
    // The home has the value, but what tells its key is damaged: the journal knows it. The next look tries again.
    for key in nameless { try? home.slots.prepare(key) }
    for key in listed where !known.contains(key) { suspects.append(key) }
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
  /// - Parameter quarantined: how many values were found aside without a journal; `nil` if there was one.
  func recover(quarantined: Int?) async throws -> RecoveryReport {
    let unplaced = try await journal.perform { [home] committer in
      var unplaced = Unplaced()
      let intents = try SlotJournal.intents(committer.statements, of: home.name)
      if !intents.isEmpty { try home.publish(committer) { unplaced = $0 } }
      return unplaced
    }
    let (outcome, slots) = try await scan()
    // First who is gone, then what the journal needs: who is gone commits nothing any more.
    let orphans = try await onQueue { [home] in home.orphans(slots) }
    try await journal.perform { [home] committer in
      let needed = Set(try SlotJournal.intents(committer.statements, of: home.name).compactMap(\.staged))
      home.cleanUp(slots, orphans.subtracting(needed))
      try? home.releaseRoom(committer)
    }
    return RecoveryReport(
      backend: home.name, completed: unplaced.completed, edited: outcome.changed, quarantined: quarantined ?? 0,
      lost: outcome.lost.union(unplaced.lost).sorted(), wasRebuilt: quarantined != nil && outcome.changed > 0)
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
  /// - Returns: How many.
  func quarantineOrphans() throws -> Int {
    var count = 0
    for id in orphans(try slots.list()) {
      do {
        _ = try slots.move(.staged(id), to: .quarantined(id))
        count += 1
      } catch let error as StorageError where error.code == .notFound {
        // Its owner was not gone after all, only on its way out.
      }
    }
    return count
  }
}

extension StorageError {
  /// The codes of which one value can be the cause, and not the store.
  fileprivate static let aboutValues: Set<Code> = [.permissionDenied, .notAStore, .valueTooLarge, .inputOutput]
}
