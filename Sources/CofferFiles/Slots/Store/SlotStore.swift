import CofferCore
import CofferSQLite
import Foundation

/// A store in slots, with its journal.
///
/// One that is open for reading only has no writer: it writes nothing, creates no file, and may have no journal. Edits
/// by other programs are read but not recorded as commits, so its entries have no revisions.
final class SlotStore: StorageEngine {
  let handle: SlotHandle
  /// The journal; `nil` without a writer if there is none.
  let journal: SQLiteEngine?
  /// What records edits and commits; `nil` if the store is open for reading only.
  let writer: SlotWriter?
  private let writing: Result<SlotWriter, StorageError>
  let quarantine: SlotQuarantine
  let queue: DispatchQueue
  private let endWatch: Locked<(@Sendable () -> Void)?>
  let slotAvailability: SlotAvailability
  private let closing = Locked<Task<Void, any Error>?>(nil)
  let capabilities: StoreCapabilities

  /// The number of attempts to read a value that changes concurrently.
  static let attempts = 16

  var description: String { handle.name }

  /// Opens a store, as ``SlotEngine/open(_:journalIn:name:configuration:)`` describes.
  static func open(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration
  ) async throws -> SlotStore {
    let store = try await runBlocking(on: openQueue) {
      try SlotStore(slots, journalIn: directory, name: name, configuration: configuration)
    }
    do {
      if let recovery = store.writer?.recovery, !recovery.isWaiting { try await recovery.done() }
    } catch let error as StorageError where error.code == .unavailable {  // The next use starts it again.
    } catch {
      try? await store.close()  // Nothing goes on in the files of a store that could not be opened.
      throw error
    }
    return store
  }

  private static let openQueue = DispatchQueue(label: "coffer.slots.open", attributes: .concurrent)

  /// Opens a store for callers that cannot suspend. It blocks the calling thread while the journal is opened; recovery
  /// continues afterwards, and listings wait for it.
  convenience init(
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
    let journal = try SQLiteEngine.openBlocking(
      at: control.journal, configuration: configuration.forJournal(named: name))
    // A journal that other handles use was not lost: they are about to record its first values.
    if try isNew || !handle.hasNeighbours() { try Self.beginRevisions(of: journal, handle, isAway: isAway) }
    let queue = DispatchQueue(label: "coffer.slots", attributes: .concurrent)
    let writer = try SlotWriter(handle, journal, quarantined: quarantined, queue: queue)
    try self.init(handle, journal, .success(writer), queue: queue, present ?? slots.availability())
    // The watch starts before the scan, so that no change is missed in between. One secret of a keyring is read without
    // reading every item, which recovery does: it waits for another use.
    let mustBegin =
      try !slots.traits.contains(.listsSlowly) || isNew || journal.read { try $0.hasRows(in: SlotJournal.intentTable) }
    if mustBegin { writer.recovery.begin() } else { writer.recovery.waitForUse() }
    if !mustBegin { writer.reconciler.recoverLater() }
  }

  /// Opens a store for reading only, with its journal, if there is one. This blocks, so do not call it on Swift's
  /// cooperative thread pool.
  convenience init(
    readOnly slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration,
    because reason: String
  ) throws {
    let control = try SlotControl(readOnly: directory, name: name)
    let hasJournal = try control.hasJournal()
    if !hasJournal { try control.requireNoLostAttributes() }
    var journalConfiguration = configuration.forJournal(named: name)
    // The availability of the store includes that of its journal, and is told once.
    journalConfiguration.journalEvents = nil
    let journal =
      hasJournal
      ? try SQLiteEngine.openBlocking(
        at: control.journal, configuration: journalConfiguration, readOnlyBecause: reason) : nil
    let handle = try SlotHandle(
      slots: slots, name: name, control: control, configuration: configuration, hasNewJournal: !hasJournal,
      isReadOnly: true)
    try self.init(
      handle, journal, .failure(.readOnly(because: reason, location: name)),
      queue: DispatchQueue(label: "coffer.slots.readonly", attributes: .concurrent), slots.availability())
  }

  private init(
    _ handle: SlotHandle, _ journal: SQLiteEngine?, _ writing: Result<SlotWriter, StorageError>, queue: DispatchQueue,
    _ present: StoreAvailability
  ) throws {
    let (slots, writer) = (handle.slots, try? writing.get())
    (self.handle, self.journal, self.writing, self.writer, self.queue) = (handle, journal, writing, writer, queue)
    quarantine = writer?.quarantine ?? SlotQuarantine(handle, journal)
    var features = SQLiteEngine.features
    if writer == nil { features.subtract(.promisedByWriters.union([.revisions, .immediateRevisions])) }
    if journal == nil { features.subtract([.replay, .foreignWriters]) }
    if !slots.traits.contains(.survivesPowerLoss) { features.remove(.powerLossSafety) }
    if slots.keepsSecrets { features.insert(.secrecy) }
    if slots.traits.contains(.holdsPropertyLists) { features.insert(.propertyLists) }
    capabilities = StoreCapabilities(features, maximumValueSize: handle.configuration.maximumValueSize)
    let availability = SlotAvailability(
      slots, present, telling: handle.configuration.events, name: handle.name, queue: queue
    ) { [weak writer] in
      Task {
        _ = try? await writer?.recovery.done()
        writer?.reconciler.receive(.anything)
      }
    }
    if let journal { availability.follow(journal.availability()) }
    writer?.reconciler.missed.withLock { $0 = { [weak availability] in availability?.miss() } }
    endWatch = Locked(
      try slots.watch { [weak reconciler = writer?.reconciler, weak availability] event in
        if event == .availability { availability?.check() } else { reconciler?.receive(event) }
      })
    slotAvailability = availability
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
        try handle.slots.list().contains { $0.key != nil }
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

  func recoveryReport() async throws -> RecoveryReport {
    try await writer?.recovery.done()
      ?? RecoveryReport(location: description, completed: 0, edited: 0, quarantined: 0, lost: [], wasRebuilt: false)
  }

  var slots: any Slots { handle.slots }
  var clock: StoreClock { handle.configuration.common.clock }
  var events: CofferEvents? { handle.configuration.common.events }

  /// The error of commits to a store that is open for reading only.
  var obstacleToWriting: StorageError? {
    if case .failure(let refusal) = writing { refusal } else { nil }
  }

  /// Returns the writer, or throws the reason why there is none.
  func openWriter() throws -> SlotWriter {
    if writer == nil { try requireOpen() }
    return try writing.get()
  }

  /// Throws if the store is closed, or has a journal that was not there when it was opened: only that records which of
  /// the staged values are committed.
  func requireOpen() throws {
    if let writer { return try writer.journal.requireWritable() }
    guard closing.withLock({ $0 == nil }) else { throw StorageError.closed(description) }
    if journal == nil, try handle.control.hasJournal() {
      throw StorageError(
        .unavailable, "The store had no journal when it was opened, and another process has created one.",
        advice: "Open the store again.", location: description)
    }
  }

  /// Reads from the store, on a dispatch queue if reads can block.
  func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    handle.slots.readsBlock ? try await queue.run(body) : try body()
  }

  /// Schedules a check of the store's availability if an error is `unavailable`, and returns the error.
  func noticing(_ error: any Error) -> any Error {
    if let error = error as? StorageError, error.code == .unavailable { slotAvailability.check() }
    return error
  }

  // MARK: Reading

  func entry(_ key: KeyName) async throws -> StoreEntry? {
    do { return try entry(await settled(key), of: key) } catch { throw noticing(error) }
  }

  /// Looks up a key, recording the edits of other programs first.
  func settled(_ key: KeyName) async throws -> Finding {
    try requireOpen()
    guard writer != nil else { return try await reading { [self] in try findUnrecorded(key) } }
    for _ in 0..<Self.attempts {
      let finding = slots.readsBlock ? try await queue.run { [self] in try find(key) } : try find(key)
      switch finding {
      case .entry, .absent, .damaged, .lost: return finding
      case .differs: try await openWriter().reconciler.reconcile([key])
      case .unrecorded:
        if try await isStuck(key) { throw handle.stillThere(key) }
      }
    }
    throw StorageError.keepsChanging(key, description)
  }

  /// Whether a value still exists although its removal was committed.
  func isStuck(_ key: KeyName) async throws -> Bool {
    try await openWriter().reconciler.reconcile([key]).stuck.contains(key)
  }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try requireOpen()
    guard let writer else {
      let records: any ExpiringEngine = journal ?? MemoryEngine(name: description)
      return try await records.withStoredSnapshot { try await body(SlotSnapshot($0, of: self)) }
    }
    try await requireAvailable(writer)
    defer { handle.discardRetained(on: queue) }
    return try await writer.journal.withSnapshot(after: handle.announceSnapshot) { [self] records in
      try await body(SlotSnapshot(records, of: self))
    }
  }

  /// Throws `unavailable` if the store is. A listing reads the journal alone and would not detect it.
  private func requireAvailable(_ writer: SlotWriter) async throws {
    do {
      try await writer.recovery.done()
      guard handle.slots.readsBlock else { return }
      let slots = handle.slots
      if case .unavailable(let reason) = try await queue.run({ slots.availability() }) {
        throw StorageError(.unavailable, reason, advice: "Try again when it is available.", location: description)
      }
    } catch {
      throw noticing(error)
    }
  }

  // MARK: Closing

  func flush() async throws { try await writer?.journal.flush() }

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
    await writer?.close()
    try await journal?.close()
    if writer != nil { handle.close() }
  }
}
