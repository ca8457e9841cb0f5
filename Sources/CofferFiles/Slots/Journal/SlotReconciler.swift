import CofferCore
import CofferSQLite
import Foundation

/// The reconciliation of a journal with the changes that other programs, such as an editor or `rm`, have made.
///
/// Each change becomes a commit without transaction and origin, so that every subscriber in every process receives it
/// once.
final class SlotReconciler: Sendable {
  private struct Pending {
    var keys: Set<KeyName> = []
    var everything = false
    var isScheduled = false
  }

  /// The maximum number of values recorded in one commit, since they are read under the write lock.
  private static let chunk = 256
  /// The number of bytes read after which a commit takes no further values.
  private static let chunkBytes = 32 << 20

  private let handle: SlotHandle
  private let journal: SQLiteEngine
  private let quarantine: SlotQuarantine
  private let pending = Locked(Pending())
  private let queue: DispatchQueue
  /// The reconciliations that events have started.
  private let underWay = CommitGate()
  /// The number of edits that events have recorded before the end of the opening's recovery, whose report counts them;
  /// `nil` from then on. The event of a file that was closed late, say, arrives while the opening reads all files.
  private let early = Locked<Int?>(0)
  /// Called when a reported change could not be read because the store is unavailable.
  let missed = Locked<(@Sendable () -> Void)?>(nil)

  init(handle: SlotHandle, journal: SQLiteEngine, quarantine: SlotQuarantine, queue: DispatchQueue) {
    self.handle = handle
    self.journal = journal
    self.quarantine = quarantine
    self.queue = queue
  }

  // MARK: Change events

  /// Schedules a comparison of one key, or of every key, with the journal. Own changes are reported as well; each costs
  /// one lookup in the journal and in the slot.
  func receive(_ event: SlotEvent) {
    let mustSchedule = pending.withLock { pending in
      switch event {
      case .changed(let key): pending.keys.insert(key)
      case .anything: pending.everything = true
      case .availability: return false
      }
      defer { pending.isScheduled = true }
      return !pending.isScheduled
    }
    // Debounced by a millisecond, so that a burst, mostly of own changes, is handled once.
    if mustSchedule { queue.asyncAfter(deadline: .now() + .milliseconds(1)) { [weak self] in self?.lookAtPending() } }
  }

  /// Handles no further events, and returns when the reconciliations under way have ended: their reads would keep the
  /// journal open beyond its closing.
  func close() async { await underWay.close() }

  private func lookAtPending() {
    guard underWay.enter() else { return }
    let heard = pending.withLock { pending in
      defer { pending = Pending() }
      return pending
    }
    let suspects = heard.everything ? [] : heard.keys.filter(isSuspect)
    guard heard.everything || !suspects.isEmpty else { return underWay.leave() }
    Task {
      defer { underWay.leave() }
      // An error here is thrown again to the next reader of the key; subscribers have no use for it.
      do {
        let outcome = heard.everything ? try await scan().outcome : try await reconcile(suspects)
        early.withLock { $0 = $0.map { $0 + outcome.changed } }
      } catch {
        if error.isAbsence || (error as? StorageError)?.code == .busy { missed.withLock { $0 }?() }
      }
    }
  }

  /// Whether another program may have changed a value, judged by its stamp or, without stamps, by its content.
  func isSuspect(_ key: KeyName) -> Bool {
    do {
      let line = try journal.read { try $0.withValue(key) { _, bytes in SlotRecord(bytes) } }
      let presence = try handle.slots.stamp(.value(key))
      guard let line else { return presence != nil }
      guard let record = line else { return true }
      return isSuspect(key, record, presence)
    } catch {
      return true
    }
  }

  private func isSuspect(_ key: KeyName, _ record: SlotRecord, _ presence: SlotPresence?) -> Bool {
    guard presence != nil, record.stamp == nil else { return presence != SlotPresence(stamp: record.stamp) }
    guard let content = try? handle.slots.read(.value(key)) else { return true }
    return !handle.matches(record, key, content) || record.attributes.merging(content.attributes) != record.attributes
  }

  // MARK: Recording changes

  /// The result of a reconciliation.
  struct Outcome: Sendable {
    /// The number of values that differed from their records.
    var changed = 0
    /// The keys whose removal is committed, but whose values could not be deleted.
    var stuck: Set<KeyName> = []
    /// The keys whose newest values are lost.
    var lost: Set<KeyName> = []
    fileprivate var noted: [(KeyName, SlotRecord)] = []
    fileprivate var looked = 0
  }

  /// Records the changes that other programs have made to these values, after publishing pending commits.
  /// - Parameter skipped: the error codes for which an unreadable value is skipped; reading it throws the error.
  @discardableResult
  func reconcile(_ keys: [KeyName], skipping skipped: Set<StorageError.Code> = []) async throws -> Outcome {
    var total = Outcome()
    var rest = keys[...]
    while !rest.isEmpty {
      let outcome = try await reconcileSome(Array(rest.prefix(Self.chunk)), skipped)
      rest = rest.dropFirst(outcome.looked)
      total.changed += outcome.changed
      total.stuck.formUnion(outcome.stuck)
      total.lost.formUnion(outcome.lost)
    }
    return total
  }

  private func reconcileSome(_ keys: [KeyName], _ skipped: Set<StorageError.Code>) async throws -> Outcome {
    let failed = try await journal.perform { [handle] committer in
      var failed: Set<KeyName> = []
      try handle.publish(committer) { unpublished in
        failed = Set(keys.filter { unpublished.all != nil || unpublished.failures[$0] != nil })
      }
      return failed
    }
    let outcome = try await journal.transact(TransactionHeader(origin: nil, durability: .full)) { [self] transaction in
      let waiting = try SlotJournal.intendedKeys(in: transaction, of: handle.name)
      var outcome = Outcome()
      var bytes = 0
      for key in keys where bytes < Self.chunkBytes {
        outcome.looked += 1
        if waiting.contains(key) {
          // Not stuck is what another writer has committed since and is about to publish.
          if failed.contains(key), case .none = try SlotJournal.line(of: key, in: transaction) {
            outcome.stuck.insert(key)
          }
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

  /// Compares a value with its record and updates the record.
  /// - Returns: The number of bytes read.
  private func takeIn(_ key: KeyName, _ transaction: SQLiteDatabase.Transaction, _ outcome: inout Outcome) throws -> Int
  {
    let line = try SlotJournal.line(of: key, in: transaction)
    let (content, isCopy) = try handle.content(of: key)
    let size = content?.data.count ?? 0
    if case .record(let record) = line, keep(record, key, content, isCopy: isCopy, &outcome) { return size }
    // A value of the copy without a record was removed after the copy was made.
    if case .none = line, isCopy, !handle.hasNewJournal { return size }
    guard let content else {
      if case .none = line { return 0 }
      try transaction.change(.delete(key))
      outcome.changed += 1
      return 0
    }
    let record = handle.record(handle.nextID(), key, content.asEdit)
    try SlotJournal.put(record, of: key, in: transaction)
    outcome.changed += 1
    return content.data.count
  }

  /// Whether the record of a value stays because the value was not edited.
  private func keep(
    _ record: SlotRecord, _ key: KeyName, _ content: SlotContent?, isCopy: Bool, _ outcome: inout Outcome
  ) -> Bool {
    if let content {
      // The same bytes under another stamp, or a version that was lost: copied back from a backup, say.
      let isBack = record.loss != .none && content.version == record.id
      if isBack || handle.matches(record, key, content) {
        let present = handle.record(record.id, key, content, record.attributes)
        if present != record { outcome.noted.append((key, present)) }
        return true
      }
      if record.loss == .none, handle.isDamaged(record, content) { return true }  // Reading the value throws `damaged`.
    }
    if handle.isStillLost(record, key, content) {
      outcome.lost.insert(key)
      return true
    }
    guard isCopy, let lost = handle.record(record, lostIn: content, key) else { return false }
    outcome.lost.insert(key)
    outcome.noted.append((key, lost))
    return true
  }

  // MARK: Scanning

  /// Compares the stamps of all values with the journal and records those that differ. Linear in their number; reads
  /// only values that differ. An unreadable value does not hide the others.
  /// - Returns: The outcome, and every slot of the store.
  func scan() async throws -> (outcome: Outcome, slots: [ListedSlot]) {
    let (suspects, slots) = try await queue.run { [self] in try findSuspects() }
    return (try await reconcile(suspects, skipping: StorageError.aboutValues), slots)
  }

  private func findSuspects() throws -> (suspects: [KeyName], slots: [ListedSlot]) {
    var suspects: [KeyName] = []
    var known: Set<KeyName> = []
    let slots = try handle.slots.list()
    var listed: [KeyName: SlotPresence?] = [:]
    for slot in slots { if let key = slot.key { listed[key] = slot.presence } }
    var nameless: [KeyName] = []
    try journal.read { reader in
      try reader.forEachValue { key, value in
        known.insert(key)
        guard let record = value.flatMap({ SlotRecord($0) }), record.loss == .none else { return suspects.append(key) }
        let known = listed[key]
        let presence = (known ?? nil) ?? (try? handle.slots.stamp(.value(key)))
        if presence != nil, known == nil { nameless.append(key) }
        if isSuspect(key, record, presence) { suspects.append(key) }
      }
    }
    // The value exists, but the file with its full key is damaged: restore that from the journal. Retried by each scan.
    for key in nameless { try? handle.slots.prepare([key]) }
    for key in listed.keys where !known.contains(key) { suspects.append(key) }
    return (suspects, slots)
  }

  // MARK: After a crash

  /// Notes that the recovery is not a part of the opening: its report counts only what it finds itself.
  func recoverLater() { early.withLock { $0 = nil } }

  /// Rolls forward and cleans up after killed writers, and records the changes that other programs have made meanwhile.
  /// - Parameter quarantined: the number of staged values found without a journal; `nil` if there was one.
  func recover(quarantined: Int?) async throws -> RecoveryReport {
    let unpublished = try await journal.perform { [handle] committer in
      var unpublished = Unpublished()
      let intents = try SlotJournal.intents(committer.statements, of: handle.name)
      if !intents.isEmpty { try handle.publish(committer) { unpublished = $0 } }
      return unpublished
    }
    let (outcome, slots) = try await scan()
    // Determine the dead owners before reading the intents: a dead owner commits nothing afterwards.
    let orphans = try await queue.run { [handle] in handle.orphans(slots) }
    try await journal.perform { [handle] committer in
      let needed = Set(try SlotJournal.intents(committer.statements, of: handle.name).compactMap(\.staged))
      handle.cleanUp(slots, orphans.subtracting(needed))
      try? handle.repairCopy(committer)
    }
    let early = early.withLock { early in
      defer { early = nil }
      return early ?? 0
    }
    let edited = outcome.changed + early
    return RecoveryReport(
      location: handle.name, completed: unpublished.completed, edited: edited, quarantined: quarantined ?? 0,
      lost: outcome.lost.union(unpublished.lost).sorted(), wasRebuilt: quarantined != nil && edited > 0)
  }
}

extension SlotHandle {
  /// Returns the staged versions of handles that no longer exist.
  fileprivate func orphans(_ slots: [ListedSlot]) -> Set<SlotID> {
    let staged = slots.compactMap { slot -> SlotID? in
      if case .staged(let id) = slot.slot { id } else { nil }
    }
    let gone = Set(staged.map(\.owner)).filter(control.isGone)
    return Set(staged.filter { gone.contains($0.owner) })
  }

  /// Removes orphaned staged values, and the retained values if no snapshot is open.
  fileprivate func cleanUp(_ slots: [ListedSlot], _ orphans: Set<SlotID>) {
    for id in orphans { try? self.slots.delete(.staged(id)) }
    if !control.hasSnapshots {
      for case .retained(let id) in slots.lazy.map(\.slot) { try? self.slots.delete(.retained(id)) }
    }
    control.forgetGoneOwners()
  }

  /// Moves orphaned staged values to the quarantine: without the journal it is unknown whether they were committed.
  /// - Returns: The number of values moved.
  func quarantineOrphans() throws -> Int {
    var count = 0
    for id in orphans(try slots.list()) {
      do {
        _ = try slots.move(.staged(id), to: .quarantined(id.description))
        count += 1
      } catch let error as StorageError where error.code == .notFound {
        // Its owner was still closing and has removed it.
      }
    }
    return count
  }
}

extension StorageError {
  /// The error codes that a single value can cause in an intact store.
  fileprivate static let aboutValues: Set<Code> = [.permissionDenied, .notAStore, .valueTooLarge, .inputOutput]
}
