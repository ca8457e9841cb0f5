import CofferCore
import CofferSQLite
import Foundation

/// A writable store in slots, with its journal and the recovery that keeps the two consistent.
final class SlotStore: SlotCore {
  let records: SQLiteEngine
  let handle: SlotHandle
  let quarantine: SlotQuarantine
  let reconciler: SlotReconciler
  private let queue: DispatchQueue
  private let endWatch: Locked<(@Sendable () -> Void)?>
  private let slotAvailability: SlotAvailability
  private let gate = CommitGate()
  private let sweeping: SweepSchedule
  private let closing = Locked<Task<Void, any Error>?>(nil)
  /// The recovery that opening starts. Listings wait for it.
  let recovery: SlotRecovery

  let capabilities: StoreCapabilities

  var description: String { handle.name }

  /// Opens a store, as ``SlotEngine/open(_:journalIn:name:configuration:)`` describes.
  static func open(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration
  ) async throws -> SlotStore {
    // The lock is for the thread sanitizer: it does not see that a continuation resumed before it is awaited orders its
    // two sides.
    let opened = Locked<Result<SlotStore, any Error>>(.failure(StorageError.closed(name)))
    await withCheckedContinuation { continuation in
      openQueue.async {
        let result = Result { try SlotStore(slots, journalIn: directory, name: name, configuration: configuration) }
        opened.withLock { $0 = result }
        continuation.resume()
      }
    }
    let engine = try opened.withLock { $0 }.get()
    do {
      if !engine.recovery.isWaiting { try await engine.recovery.done() }
    } catch let error as StorageError where error.code == .unavailable {  // The next use starts it again.
    } catch {
      try? await engine.close()  // Nothing goes on in the files of a store that could not be opened.
      throw error
    }
    return engine
  }

  private static let openQueue = DispatchQueue(label: "coffer.slots.open", attributes: .concurrent)

  /// Opens a store for callers that cannot suspend. It blocks the calling thread while the journal is opened; recovery
  /// continues afterwards, and listings wait for it.
  init(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration
  ) throws {
    let control = try SlotControl(directory, name: name)
    // The only call here that an unresponsive store can block; before the lock that other processes wait for.
    let present = slots.readsBlock ? slots.availability() : nil
    let isAway = present.map { !$0.isUsable } ?? false
    let opening = try control.beginOpening(busyTimeout: configuration.busyTimeout)
    defer { withExtendedLifetime(opening) {} }
    let isNew = try !control.hasJournal()
    if isNew { try control.requireNoLostAttributes() }
    let handle = try SlotHandle(
      slots: slots, name: name, control: control, configuration: configuration, hasNewJournal: isNew)
    var quarantined: Int?
    if isNew {
      try control.setLeftoversAside()
      quarantined = isAway ? nil : try handle.ifAvailable { try handle.quarantineOrphans() }
    }
    records = try SQLiteEngine.openBlocking(at: control.journal, configuration: configuration.forJournal(named: name))
    // A journal that other handles use was not lost: they are about to record its first values.
    if try isNew || !handle.hasNeighbours() { try Self.beginRevisions(of: records, handle, isAway: isAway) }
    sweeping = SweepSchedule(isNeeded: try records.read { try $0.hasExpiries() })
    let queue = DispatchQueue(label: "coffer.slots", attributes: .concurrent)
    let quarantine = SlotQuarantine(handle, records)
    let reconciler = SlotReconciler(handle: handle, journal: records, quarantine: quarantine, queue: queue)
    self.handle = handle
    self.queue = queue
    self.quarantine = quarantine
    self.reconciler = reconciler
    var features = records.capabilities.features
    if !slots.survivesPowerLoss { features.remove(.powerLossSafety) }
    if slots.keepsSecrets { features.insert(.secrecy) }
    if slots.holdsPropertyLists { features.insert(.propertyLists) }
    capabilities = StoreCapabilities(features, maximumValueSize: configuration.maximumValueSize)
    // The watch starts before the scan, so that no change is missed in between.
    let recovery = SlotRecovery { [quarantined] in
      let orphans = isNew ? try quarantined ?? handle.quarantineOrphans() : nil
      let report = try await reconciler.recover(quarantined: orphans)
      let isWorthTelling =
        report.completed > 0 || report.edited > 0 || report.quarantined > 0 || !report.lost.isEmpty
      if isWorthTelling {
        configuration.events?.emitLater(name, .recovered(report))
        configuration.onRecovery?(report)
      }
      return report
    }
    let availability = SlotAvailability(
      slots, present ?? slots.availability(), telling: configuration.events, name: name, queue: queue
    ) { [weak reconciler] in
      Task {
        _ = try? await recovery.done()
        reconciler?.receive(.anything)
      }
    }
    availability.follow(records.availability())
    reconciler.missed.withLock { $0 = { [weak availability] in availability?.miss() } }
    endWatch = Locked(
      try slots.watch { [weak reconciler, weak availability] event in
        if event == .availability { availability?.check() } else { reconciler?.receive(event) }
      })
    self.recovery = recovery
    slotAvailability = availability
    // One secret of a keyring is read without reading every item, which recovery does: it waits for another use.
    let mustBegin = try !slots.listsSlowly || isNew || records.read { try $0.hasRows(in: SlotJournal.intentTable) }
    if mustBegin { recovery.begin() } else { recovery.waitForUse() }
    if !mustBegin { reconciler.recoverLater() }
  }

  /// Starts the revisions of an empty journal far beyond any earlier one if the store has values: the previous journal
  /// was lost, and its last revision is unknown. Runs before other handles can use the new journal.
  private static func beginRevisions(of journal: SQLiteEngine, _ handle: SlotHandle, isAway: Bool) throws {
    guard journal.latestRevision == .zero else { return }
    // A store that is unavailable may have values.
    let hasValues =
      isAway
      ? nil
      : try handle.ifAvailable {
        try handle.slots.list().contains { if case .value = $0 { true } else { false } }
      }
    guard hasValues ?? true else { return }
    try journal.beginRevisions(after: StoreRevision(UInt64(max(1, handle.configuration.clock.now().unixMilliseconds))))
  }

  deinit { end() }

  private func end() {
    let end = endWatch.withLock { $0.take() }
    end?()
    slotAvailability.end()
  }

  func recoveryReport() async throws -> RecoveryReport { try await recovery.done() }

  var clock: StoreClock { handle.configuration.common.clock }
  var events: CofferEvents? { handle.configuration.common.events }
  var latestRevision: StoreRevision { records.latestRevision }
  var latestPosition: JournalPosition { records.latestPosition }

  // MARK: Writing

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard let events else { return try await commitSilently(batch, from: origin) }
    return try await events.commit(batch, to: self) { try await commitSilently(batch, from: origin) }
  }

  private func commitSilently(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    recovery.beginIfWaiting()
    do {
      let commit = try await commitNow(batch, from: origin)
      if let date = sweeping.takeDue(at: commit.date, after: batch) {
        Task { [weak self] in try? await self?.sweep(upTo: date) }  // A later sweep makes up for a failed one.
      }
      return commit
    } catch {
      throw noticing(error)
    }
  }

  /// Removes values that had expired at a date, in a commit of its own.
  private func sweep(upTo date: Date) async throws {
    // Each removal takes time under the journal's write lock: in a keyring, tens of milliseconds.
    let limit = handle.slots.keepsSecrets ? 8 : SweepSchedule.limit
    let expired = try await records.perform { try $0.expiredValues(at: date, limit: limit) }
    if expired.isFull { sweeping.noteMore() }
    if !expired.values.isEmpty {
      let batch = WriteBatch(sweeping: expired.values)
      let start = events.map { _ in ContinuousClock.now }
      let commit = try await commitNow(batch, from: StoreOrigin(), isSweep: true)
      if let start {
        let facts = StoreEvent.Commit(
          commit, batch, .full, since: start, isSweep: true,
          hidesSizes: handle.slots.keepsSecrets)
        events?.emitLater(description, .committed(facts))
      }
    }
    try await records.perform { try $0.forget(expired) }
  }

  private func commitNow(
    _ batch: WriteBatch, from origin: StoreOrigin, isSweep: Bool = false
  ) async throws -> StoreCommit {
    guard gate.enter() else { throw StorageError.closed(description) }
    defer { gate.leave() }
    try records.requireWritable()
    try batch.check(capabilities, location: description)
    try Task.checkCancellation()
    try await reconcileBefore(batch)
    // System records are in the journal alone, so the store need not be available for them.
    guard batch.operations.contains(where: { $0.isChange && !$0.isAboutRecord }) else {
      var batch = batch
      batch.durability = .full
      return try await records.commitSilently(batch, from: origin)
    }
    let (handle, operations) = (handle, batch.operations)
    let staged = Locked<[SlotRecord?]>([])
    let hook = CommitHook(
      on: queue, isQuick: !handle.slots.listsSlowly,
      prepare: {
        let records = try handle.stage(operations)
        staged.withLock { $0 = records }
      },
      apply: { transaction in
        let records = staged.withLock { $0 }
        try SlotJournal.record(operations, records, done: handle.done, of: handle.name, in: transaction) {
          try handle.slots.syncStaged([$0], isAlone: false)
        }
        handle.reached(.recorded)
      },
      finish: { committer, resume in
        // Removals are recorded as carried out at once.
        let isLazy = !operations.contains(where: \.isRemoval)
        try handle.publish(committer, isLazy: isLazy) { unpublished in resume { unpublished.failure(of: $0) } }
      })
    do {
      return try await records.commit(batch, from: origin, isSweep: isSweep, hook: hook)
    } catch let unfinished as UnfinishedBatch {
      throw unfinished.cause
    } catch let error as StorageError where error.code == .outcomeUnknown {
      throw error  // The staged values may be the only copies.
    } catch {
      let aside = staged.withLock { $0 }
      if !aside.isEmpty { try? await queue.run { handle.discard(aside) } }
      throw error
    }
  }

  /// Records the edits of other programs that a batch depends on: those to required and removed keys, and for a clear
  /// those to every key.
  private func reconcileBefore(_ batch: WriteBatch) async throws {
    var required: [KeyName] = []
    var removed: [KeyName] = []
    var clears = false
    for operation in batch.operations {
      switch operation {
      case .clear: clears = true
      case .require(let key, _): required.append(key)
      case .delete(let key): removed.append(key)
      case .put, .putRecord, .deleteRecord, .requireRecord: break
      }
    }
    if clears { _ = try await reconciler.scan() }
    required = try await suspects(in: required)
    if !required.isEmpty { try await reconciler.reconcile(required) }
    removed = try await suspects(in: removed)
    // A symbolic link that replaced a value is removed with it.
    if !removed.isEmpty { try await reconciler.reconcile(removed, skipping: [.notAStore]) }
  }

  private func suspects(in keys: [KeyName]) async throws -> [KeyName] {
    guard !keys.isEmpty else { return [] }
    return try await reading { [reconciler] in keys.filter(reconciler.isSuspect) }
  }

  /// Reads from the store, on a dispatch queue if reads can block.
  func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    handle.slots.readsBlock ? try await queue.run(body) : try body()
  }

  /// Schedules a check of the store's availability if an error is `unavailable`, and returns the error.
  private func noticing(_ error: any Error) -> any Error {
    if let error = error as? StorageError, error.code == .unavailable { slotAvailability.check() }
    return error
  }

  // MARK: Reading

  func entry(_ key: KeyName) async throws -> StoreEntry? {
    do { return try await presentEntry(key) } catch { throw noticing(error) }
  }

  private func presentEntry(_ key: KeyName) async throws -> StoreEntry? {
    switch try await settled(key) {
    case .entry(let entry): return entry
    case .damaged(let recorded, let content): throw quarantine.report(key, recorded, content)
    case .lost(let recorded): throw quarantine.reportLoss(key, recorded)
    case .absent, .differs, .unrecorded: return nil
    }
  }

  /// Looks up a key, recording the edits of other programs first.
  func settled(_ key: KeyName) async throws -> SlotHandle.Finding {
    try records.requireWritable()
    for _ in 0..<16 {
      let finding =
        handle.slots.readsBlock
        ? try await queue.run { [handle, records] in try handle.find(key, records) } : try handle.find(key, records)
      switch finding {
      case .entry, .absent, .damaged, .lost: return finding
      case .differs: try await reconciler.reconcile([key])
      case .unrecorded:
        if try await isStuck(key) { throw handle.stillThere(key) }
      }
    }
    throw StorageError(
      .busy, "Another process keeps changing the value.", advice: "Try again.", location: description, key: key)
  }

  /// Whether a value still exists although its removal was committed.
  private func isStuck(_ key: KeyName) async throws -> Bool {
    try await reconciler.reconcile([key]).stuck.contains(key)
  }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try records.requireWritable()
    try await requireAvailable()
    defer { handle.discardRetained(on: queue) }
    return try await records.withSnapshot(after: handle.announceSnapshot) { [self] snapshot in
      try await body(
        SlotSnapshot(
          snapshot, handle: handle, journal: records, quarantine: quarantine, queue: queue, isStuck: isStuck))
    }
  }

  func retainedCount() async throws -> Int {
    try await queue.run { [handle] in
      try handle.slots.list().count { if case .retained = $0 { true } else { false } }
    }
  }

  /// Throws `unavailable` if the store is. A listing reads the journal alone and would not detect it.
  func requireAvailable() async throws {
    do {
      try await recovery.done()
      guard handle.slots.readsBlock else { return }
      let slots = handle.slots
      if case .unavailable(let reason) = try await queue.run({ slots.availability() }) {
        throw StorageError(.unavailable, reason, advice: "Try again when it is available.", location: description)
      }
    } catch {
      throw noticing(error)
    }
  }

  func alone(_ body: @escaping @Sendable () throws -> Void) async throws {
    guard gate.enter() else { throw StorageError.closed(description) }
    defer { gate.leave() }
    try await records.perform { [handle] committer in
      try committer.housekeep {
        try handle.acknowledgeCopy(committer)
        try body()
      }
    }
  }

  var obstacleToWriting: StorageError? { nil }
  var slots: any Slots { handle.slots }
  var journal: SQLiteEngine? { records }

  // MARK: Following

  func availability() -> AsyncStream<StoreAvailability> { slotAvailability.subscribe() }

  func flush() async throws { try await records.flush() }

  func close() async throws {
    let task = closing.withLock { closing in
      let task = closing ?? Task { [self] in try await closeNow() }
      closing = task
      return task
    }
    try await task.value
  }

  private func closeNow() async throws {
    end()
    await gate.close()
    await recovery.settled()
    await reconciler.close()
    try? await records.perform { [handle] in try handle.publish($0) }  // leaves nothing for the next open
    try await records.close()
    handle.close()
  }
}
