import CofferCore
import CofferFileSystem
import CofferSQLite
import Foundation

/// A store in slots that is open for reading only. It writes nothing and creates no file.
///
/// Entries have no revisions: edits by other programs are read but not recorded as commits.
final class ReadOnlySlotStore: SlotCore {
  let capabilities: StoreCapabilities
  let description: String
  let clock: StoreClock
  let events: CofferEvents?
  let slots: any Slots
  let journal: SQLiteEngine?
  var obstacleToWriting: StorageError? { refusal }

  private let refusal: StorageError
  private let control: SlotControl
  private let reader: ReadOnlySlotReader
  private let queue = DispatchQueue(label: "coffer.slots.readonly", attributes: .concurrent)
  private let isClosed = Locked(false)
  /// The availability of the values, which can be locked, moved or removed, and of the journal.
  private let slotAvailability: SlotAvailability
  private let endWatch: (@Sendable () -> Void)?

  /// Opens the journal, if there is one. This blocks, so do not call it on Swift's cooperative thread pool.
  init(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration,
    because reason: String
  ) throws {
    self.slots = slots
    description = name
    clock = configuration.clock
    events = configuration.events
    control = try SlotControl(readOnly: directory, name: name)
    if try !control.hasJournal() { try control.requireNoLostAttributes() }
    var journalConfiguration = configuration.forJournal(named: name)
    // The availability of the store includes that of its journal, and is told once.
    journalConfiguration.journalEvents = nil
    journal =
      try control.hasJournal()
      ? SQLiteEngine.openBlocking(
        at: control.journal, configuration: journalConfiguration, readOnlyBecause: reason) : nil
    reader = ReadOnlySlotReader(slots, journal, name: name, onDamage: configuration.common.emit)
    refusal = StorageError.readOnly(because: reason, location: name)
    var features: StoreCapabilities.Features = [
      .snapshots, .listing, .persistence, .attributes, .systemRecords,
    ]
    if journal != nil { features.formUnion([.replay, .foreignWriters]) }
    if slots.keepsSecrets { features.insert(.secrecy) }
    if slots.holdsPropertyLists { features.insert(.propertyLists) }
    capabilities = StoreCapabilities(features, maximumValueSize: configuration.maximumValueSize)
    let availability = SlotAvailability(
      slots, slots.availability(), telling: configuration.events, name: name, queue: queue
    ) {}
    if let journal { availability.follow(journal.availability()) }
    slotAvailability = availability
    endWatch = try slots.watch { [weak availability] event in if event == .availability { availability?.check() } }
  }

  deinit { end() }

  private func end() {
    slotAvailability.end()
    endWatch?()
  }

  // MARK: Reading

  func entry(_ key: KeyName) async throws -> StoreEntry? {
    try requireOpen()
    return try await reading { [reader] in try reader.value(key).map { $0.entry(key) } }
  }

  /// Returns the entry of a key on the caller's thread.
  func entryNow(_ key: KeyName) throws -> StoreEntry? {
    try requireOpen()
    return try reader.value(key).map { $0.entry(key) }
  }

  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
    try requireOpen()
    @Sendable func read(_ records: (any StorageSnapshot)?) async throws -> R {
      let snapshot = ReadOnlySlotSnapshot(records, reader, name: description, queue: queue)
      defer { snapshot.end() }
      return try await body(snapshot)
    }
    guard let journal else { return try await read(nil) }
    return try await journal.withStoredSnapshot { try await read($0) }
  }

  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    try requireOpen()
    return try await journal?.record(name)
  }

  func recordedAttributes(of key: KeyName) async throws -> ValueAttributes? {
    try requireOpen()
    guard let entry = try await journal?.entry(key) else { return nil }
    return entry.value.withUnsafeBytes { SlotRecord($0)?.attributes }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard slots.keepsSecrets else { return try await entry(key).map(StoreEntry.Summary.init) }
    return try await entry(key).map {
      StoreEntry.Summary(key: key, size: nil, revision: .zero, date: nil, attributes: $0.attributes)
    }
  }

  func retainedCount() async throws -> Int {
    try requireOpen()
    return try await reading { [slots] in
      try slots.list().count { if case .retained = $0 { true } else { false } }
    }
  }

  private func reading<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    guard slots.readsBlock else { return try body() }
    return try await queue.run(body)
  }

  private func requireOpen() throws {
    guard !isClosed.withLock({ $0 }) else { throw StorageError.closed(description) }
    // With a journal there may be staged values, and only the journal records which of them are committed.
    if journal == nil, try control.hasJournal() {
      throw StorageError(
        .unavailable, "The store had no journal when it was opened, and another process has created one.",
        advice: "Open the store again.", location: description)
    }
  }

  // MARK: Writing

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard let events else { return try refuse() }
    return try await events.commit(batch, to: self) { try refuse() }
  }

  private func refuse() throws -> StoreCommit {
    try requireOpen()
    throw refusal
  }

  func alone(_ body: @escaping @Sendable () throws -> Void) async throws { throw refusal }

  func damage(of key: KeyName) async throws -> DamageReport? { throw refusal }

  func quarantine(_ entry: StoreEntry) async throws -> String { throw refusal }

  func recoveryReport() async throws -> RecoveryReport {
    RecoveryReport(location: description, completed: 0, edited: 0, quarantined: 0, lost: [], wasRebuilt: false)
  }

  // MARK: Following

  var latestRevision: StoreRevision { journal?.latestRevision ?? .zero }

  var latestPosition: JournalPosition { journal?.latestPosition ?? JournalPosition(epoch: 0, revision: .zero) }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { journal?.recentCommits(after: revision) }

  /// Without a journal there are no changes to deliver, and the stream ends at once.
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    journal?.changes(since: position) ?? AsyncStream { $0.finish() }
  }

  func availability() -> AsyncStream<StoreAvailability> {
    slotAvailability.subscribe()
  }

  func flush() async throws {}

  func close() async throws {
    isClosed.withLock { $0 = true }
    end()
    try await journal?.close()
  }
}
