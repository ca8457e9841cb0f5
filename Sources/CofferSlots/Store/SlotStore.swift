import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

/// A home in slots that can be written, with its journal and everything that keeps the two together.
final class SlotStore: SlotCore {
  let records: SQLiteEngine
  let home: SlotHome
  private let quarantine: SlotQuarantine
  let reconciler: SlotReconciler
  private let queue: DispatchQueue
  private let endWatch: Locked<(@Sendable () -> Void)?>
  private let homeAvailability: SlotAvailability
  private let gate = UsageGate()
  private let closing = Locked<Task<Void, any Error>?>(nil)
  /// What opening has still to look at: listings wait for it.
  private let recovery: SlotRecovery

  let capabilities: StoreCapabilities

  var description: String { home.name }

  /// Opens a home, finishing what a killed writer has left and taking in what others have changed meanwhile: see
  /// ``SlotEngine/open(_:journalIn:name:configuration:)``.
  static func open(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotConfiguration
  ) async throws -> SlotStore {
    // Handed over under a lock: the thread sanitizer does not see that a continuation, resumed before anybody waits for
    // it, orders its two sides.
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
      try await engine.recovery.done()
    } catch let error as StorageError where error.code == .unavailable {}  // It begins again with the next use.
    return engine
  }

  private static let openQueue = DispatchQueue(label: "coffer.slots.open", attributes: .concurrent)

  /// The same for callers that cannot suspend. It blocks their thread while the journal is opened; recovery goes on
  /// afterwards, and listings wait for it.
  init(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotConfiguration
  ) throws {
    let control = try SlotControl(directory, name: name)
    // The one question that a home which does not answer is asked here, and before others who open it wait for us.
    let present = slots.readsBlock ? slots.availability() : nil
    let isAway = present.map { !$0.isUsable } ?? false
    let opening = try control.beginOpening(busyTimeout: configuration.busyTimeout)
    defer { withExtendedLifetime(opening) {} }
    let isNew = try !control.hasJournal()
    let home = try SlotHome(
      slots: slots, name: name, control: control, configuration: configuration, hasNewJournal: isNew)
    var quarantined: Int?
    if isNew {
      try control.setLeftoversAside()
      quarantined = isAway ? nil : try home.ifAvailable { try home.quarantineOrphans() }
    }
    records = try SQLiteEngine.openBlocking(at: control.journal, configuration: configuration.forJournal(named: name))
    // Where others use the journal, it is not one that was lost: they are about to take in the first values.
    if try isNew || !home.hasNeighbours() { try Self.beginRevisions(of: records, home, isAway: isAway) }
    let queue = DispatchQueue(label: "coffer.slots", attributes: .concurrent)
    let quarantine = SlotQuarantine(home)
    let reconciler = SlotReconciler(home: home, journal: records, quarantine: quarantine, queue: queue)
    self.home = home
    self.queue = queue
    self.quarantine = quarantine
    self.reconciler = reconciler
    var features = records.capabilities.features
    if !slots.survivesPowerLoss { features.remove(.powerLossSafety) }
    capabilities = StoreCapabilities(features, maximumValueSize: configuration.maximumValueSize)
    // First the watch, then the look at everything: so nothing is missed in between.
    let recovery = SlotRecovery { [quarantined] in
      let orphans = isNew ? try quarantined ?? home.quarantineOrphans() : nil
      let report = try await reconciler.recover(quarantined: orphans)
      let isWorthTelling =
        report.completed > 0 || report.edited > 0 || report.quarantined > 0 || !report.lost.isEmpty
      if isWorthTelling { configuration.onRecovery?(report) }
      return report
    }
    let availability = SlotAvailability(slots, present ?? slots.availability(), queue: queue) { [weak reconciler] in
      Task {
        _ = try? await recovery.done()
        reconciler?.hear(.anything)
      }
    }
    availability.follow(records.availability())
    reconciler.missed.withLock { $0 = { [weak availability] in availability?.miss() } }
    endWatch = Locked(
      try slots.watch { [weak reconciler, weak availability] event in
        if event == .availability { availability?.look() } else { reconciler?.hear(event) }
      })
    self.recovery = recovery
    homeAvailability = availability
    recovery.begin()
  }

  /// A home that has values and a journal that has none: the journal was lost, and with it how far its revisions had
  /// come. They go on far beyond, before anybody else can use the new one.
  private static func beginRevisions(of journal: SQLiteEngine, _ home: SlotHome, isAway: Bool) throws {
    guard journal.latestRevision == .zero else { return }
    // One that cannot tell now may have some.
    let hasValues =
      isAway
      ? nil
      : try home.ifAvailable {
        try home.slots.list().contains { if case .value = $0 { true } else { false } }
      }
    guard hasValues ?? true else { return }
    try journal.beginRevisions(after: StoreRevision(UInt64(max(1, home.configuration.clock.now().unixMilliseconds))))
  }

  deinit { end() }

  private func end() {
    let endWatch = endWatch.withLock { endWatch in
      defer { endWatch = nil }
      return endWatch
    }
    endWatch?()
    homeAvailability.end()
  }

  func recoveryReport() async throws -> RecoveryReport { try await recovery.done() }

  var latestRevision: StoreRevision { records.latestRevision }
  var latestPosition: JournalPosition { records.latestPosition }

  // MARK: Writing

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    do {
      return try await commitNow(batch, from: origin)
    } catch {
      throw noticing(error)
    }
  }

  private func commitNow(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard gate.enter() else { throw StorageError.closed(description) }
    defer { gate.leave() }
    try records.requireWritable()
    try batch.check(capabilities, backend: description)
    try Task.checkCancellation()
    try await reconcileBefore(batch)
    // Records are in the journal alone, so the home need not be there for them.
    guard batch.selection.hasValues else {
      var batch = batch
      batch.durability = .full
      return try await records.commit(batch, from: origin)
    }
    let (home, operations) = (home, batch.operations)
    let staged = Locked<[SlotRecord?]>([])
    let hook = CommitHook(
      on: queue,
      prepare: {
        let records = try home.stage(operations)
        staged.withLock { $0 = records }
      },
      apply: { transaction in
        try SlotJournal.record(operations, staged.withLock { $0 }, done: home.done, in: transaction)
        if let slots = home.slots as? any RoomReserving {
          try slots.reserve(placing: SlotJournal.stagedVersions(in: transaction))
        }
        home.reached(.recorded)
      },
      finish: { committer, resume in
        try home.publish(committer, isLazy: true) { unplaced in resume { unplaced.failure(of: $0) } }
      })
    do {
      return try await records.commit(batch, from: origin, hook: hook)
    } catch let unfinished as UnfinishedBatch {
      throw unfinished.cause
    } catch let error as StorageError where error.code == .outcomeUnknown {
      throw error  // The values aside may be the only ones.
    } catch {
      let aside = staged.withLock { $0 }
      if !aside.isEmpty { try? await onQueue { home.discard(aside) } }
      if let error = error as? StorageError, error.code == .diskFull {
        try? await records.perform { [home] in try home.releaseRoom($0) }
      }
      throw error
    }
  }

  /// A precondition must see what others have edited; a removal removes what is there now; a clear must know what
  /// others have added.
  private func reconcileBefore(_ batch: WriteBatch) async throws {
    var required: [StoreKey] = []
    var removed: [StoreKey] = []
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
    // A link in the place of a value goes with it.
    if !removed.isEmpty { try await reconciler.reconcile(removed, skipping: [.notAStore]) }
  }

  private func suspects(in keys: [StoreKey]) async throws -> [StoreKey] {
    guard !keys.isEmpty else { return [] }
    return try await reading { [reconciler] in keys.filter(reconciler.isSuspect) }
  }

  /// Reads from the home: here where that is quick, else where it holds nobody up.
  func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    home.slots.readsBlock ? try await onQueue(body) : try body()
  }

  /// An error of the home may be the first sign that it is away.
  private func noticing(_ error: any Error) -> any Error {
    if let error = error as? StorageError, error.code == .unavailable { homeAvailability.look() }
    return error
  }

  private func onQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  // MARK: Reading

  func entry(_ key: StoreKey) async throws -> StoreEntry? {
    do {
      return try await presentEntry(key)
    } catch {
      throw noticing(error)
    }
  }

  private func presentEntry(_ key: StoreKey) async throws -> StoreEntry? {
    try records.requireWritable()
    for _ in 0..<16 {
      switch try await reading({ [home, records, quarantine] in try home.look(key, records, quarantine) }) {
      case .entry(let entry): return entry
      case .absent: return nil
      case .differs: try await reconciler.reconcile([key])
      case .unrecorded:
        if try await isStuck(key) { throw home.stillThere(key) }
      }
    }
    throw StorageError(
      .busy, "Somebody else is changing the value all the time.", advice: "Try again.", backend: description, key: key)
  }

  /// Whether a value is still in its place although its removal was committed.
  private func isStuck(_ key: StoreKey) async throws -> Bool {
    try await reconciler.reconcile([key]).waiting.contains(key)
  }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try records.requireWritable()
    try await requireAvailable()
    defer { if home.retainsAny { queue.async { [home] in home.discardRetained() } } }
    return try await records.withSnapshot(after: home.announceSnapshot) { [self] snapshot in
      try await body(
        SlotSnapshot(snapshot, home: home, journal: records, quarantine: quarantine, queue: queue, isStuck: isStuck))
    }
  }

  func retainedCount() async throws -> Int {
    try await onQueue { [home] in
      try home.slots.list().count { if case .retained = $0 { true } else { false } }
    }
  }

  /// A listing comes from the journal, which does not know that the home is away.
  func requireAvailable() async throws {
    do {
      try await recovery.done()
      guard home.slots.readsBlock else { return }
      let slots = home.slots
      if case .unavailable(let reason) = try await onQueue({ slots.availability() }) {
        throw StorageError(.unavailable, reason, advice: "Try again when it is back.", backend: description)
      }
    } catch {
      throw noticing(error)
    }
  }

  func alone(_ body: @escaping @Sendable () throws -> Void) async throws {
    guard gate.enter() else { throw StorageError.closed(description) }
    defer { gate.leave() }
    try await records.perform { [home] committer in
      try committer.housekeep {
        try home.acknowledgeCopy(committer)
        try body()
      }
    }
  }

  var obstacleToWriting: StorageError? { nil }
  var slots: any Slots { home.slots }
  var journal: SQLiteEngine? { records }

  // MARK: Following

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { records.recentCommits(after: revision) }

  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { records.changes(since: position) }

  func availability() -> AsyncStream<StoreAvailability> { homeAvailability.subscribe() }

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
    try? await records.perform { [home] in try home.publish($0) }  // so that the next one finds nothing to do
    try await records.close()
    home.close()
  }
}
