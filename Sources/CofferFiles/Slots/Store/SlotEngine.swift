public import CofferCore
package import CofferSQLite

/// A storage engine over a store that can only read, write and delete single named items, such as files or preferences.
///
/// A commit stages the new values in the store, commits the whole batch to a journal, publishes the staged values, and
/// marks the journal entry as done. The batch is committed once the journal is: from then on readers receive the new
/// values, whether published or still staged, and the next writer or open rolls forward what a killed writer has left.
///
/// Changes that other programs make to the store are delivered as commits without transaction and origin. `.relaxed`
/// commits are as durable as `.full` ones, since a power loss could otherwise leave a batch half done.
///
/// If the journal's directory cannot be written, or its configuration demands it, the store is opened
/// for reading only (``isReadOnly``). Commits throw `readOnly` then, commits by other processes are polled for once per
/// second, and edits by other programs are readable but not delivered. A snapshot cannot retain a value that is
/// replaced: reading it throws `unavailable`.
public final class SlotEngine: ExpiringEngine {
  let core: SlotStore
  /// Asks the user before values are read, in a store of secrets.
  private let reads: ReadGuard?
  /// Whether the user is asked before a value with an access control is read.
  package var asksUser: Bool { reads != nil }
  /// The context that asks before a secret with an access control is read.
  package let authentication: AuthenticationContext?
  /// The last commit that was submitted by a caller that does not wait for it.
  let submitted = Locked<Task<Void, Never>?>(nil)
  private let isClosed = Locked(false)

  public var capabilities: StoreCapabilities { core.capabilities }

  /// The location of the store, as error messages print it.
  public var description: String { core.description }

  public var clock: StoreClock { core.clock }
  public var events: CofferEvents? { core.events }

  /// Whether the store is open for reading only, because of its configuration or because it cannot be written.
  public var isReadOnly: Bool { core.obstacleToWriting != nil }

  /// The error that commits throw in a read-only store; `nil` if the store can be written.
  package var obstacleToWriting: StorageError? { core.obstacleToWriting }

  /// Opens a store, rolls forward the commits of killed writers and records the changes of other programs.
  ///
  /// A store that is unavailable is opened as well: its methods throw `unavailable` until it becomes available.
  /// - Parameters:
  ///   - slots: the underlying store.
  ///   - directory: an existing directory for the journal, on a local file system and used by this engine only.
  ///   - name: the name of the store in messages, such as `file:/var/lib/shop`.
  ///   - configuration: the options for opening the store.
  /// - Throws: `StorageError` as ``SQLiteEngine/open(at:configuration:)-(String,_)`` does, for the journal, and
  ///   the errors of the underlying store except `unavailable`.
  package static func open(
    _ slots: any Slots, journalIn directory: String, name: String,
    configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) async throws -> SlotEngine {
    SlotEngine(
      try await SlotStore.open(slots, journalIn: directory, name: name, configuration: configuration), configuration)
  }

  /// Opens a store for callers that cannot suspend. It blocks the calling thread while the journal is opened; recovery
  /// continues afterwards, and listings wait for it.
  package convenience init(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration
  ) throws {
    self.init(try SlotStore(slots, journalIn: directory, name: name, configuration: configuration), configuration)
  }

  /// Opens a store for reading only. It blocks the calling thread while the journal, if any, is opened.
  /// - Parameters:
  ///   - slots: the underlying store, opened without creating anything.
  ///   - reason: the reason that ``SlotEngine/Configuration/reasonToOnlyRead(control:)`` returned.
  package convenience init(
    readOnly slots: any Slots, journalIn directory: String, name: String, configuration: SlotEngine.Configuration,
    because reason: String
  ) throws {
    self.init(
      try SlotStore(readOnly: slots, journalIn: directory, name: name, configuration: configuration, because: reason),
      configuration)
  }

  private init(_ core: SlotStore, _ configuration: SlotEngine.Configuration) {
    self.core = core
    authentication = configuration.authentication
    reads =
      core.slots.keepsSecrets
      ? ReadGuard(configuration.authentication, declared: configuration.declaredAccessControl) : nil
  }

  deinit { noteClosed() }

  /// Creates an engine that stands for a store that could not be opened and tries again on each use.
  package static func reopening(
    after error: any Error, description: String, _ configuration: SlotEngine.Configuration, keepsSecrets: Bool = false,
    holdsPropertyLists: Bool = false, open: @escaping @Sendable () async throws -> SlotEngine
  ) -> RetryingEngine {
    var features = SQLiteEngine.features
    if keepsSecrets { features.insert(.secrecy) }
    if holdsPropertyLists { features.insert(.propertyLists) }
    let capabilities = StoreCapabilities(features, maximumValueSize: configuration.maximumValueSize)
    return RetryingEngine(error, description: description, capabilities: capabilities, open: open)
  }

  /// Returns the repairs that opening the store has made. Waits for recovery to end.
  public func recoveryReport() async throws -> RecoveryReport { try await core.recoveryReport() }

  public var latestRevision: StoreRevision { core.latestRevision }
  public var latestPosition: JournalPosition { core.latestPosition }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await core.commit(batch, from: origin)
  }

  public func entry(_ key: KeyName) async throws -> StoreEntry? {
    guard let reads else { return try await core.entry(key)?.present(at: clock.now()) }
    return try await reads.entries(
      [key], in: description, recorded: recordedAttributes,
      read: { [try await core.entry(key)?.present(at: clock.now())] })[0]
  }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    guard let reads else { return try await withSnapshot { try await $0.entries(keys) } }
    // Asked for before there is a snapshot, which would delay checkpoints until the user answers.
    return try await reads.entries(
      keys, in: description, recorded: recordedAttributes,
      read: {
        try await withStoredSnapshot { try await PresentSnapshot($0, at: clock.now()).entries(keys) }
      })
  }

  /// Returns the recorded attributes of a value that is present.
  private func recordedAttributes(_ key: KeyName) async throws -> ValueAttributes? {
    guard let attributes = try await core.recordedAttributes(of: key) else { return nil }
    return attributes.isExpired(at: clock.now()) ? nil : attributes
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await withStoredSnapshot {
      let present = PresentSnapshot($0, at: clock.now())
      guard let reads else { return try await body(present) }
      return try await body(GuardedSnapshot(present, reads, in: description))
    }
  }

  /// Reads one state of the store, including values that have expired. The user is not asked, so that no value must
  /// leave the library.
  package func withStoredSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await core.withSnapshot(body)
  }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? { try await core.record(name) }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard let summary = try await core.summary(of: key) else { return nil }
    return summary.attributes.isExpired(at: clock.now()) ? nil : summary
  }

  /// Returns the number of replaced values retained for snapshots, by all processes that have the store open.
  package func retainedCount() async throws -> Int { try await core.retainedCount() }

  /// Runs a closure while no process publishes a commit.
  package func alone(_ body: @escaping @Sendable () throws -> Void) async throws { try await core.alone(body) }

  /// The underlying store, for operations that only its kind supports.
  package var slots: any Slots { core.slots }

  /// The journal, for tools that inspect its file; `nil` if there is none and none can be created.
  package var journal: SQLiteEngine? { core.journal }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { core.recentCommits(after: revision) }
  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { core.changes(since: position) }
  public func availability() -> AsyncStream<StoreAvailability> { core.availability() }
  public func flush() async throws { try await core.flush() }

  public func close() async throws {
    defer { noteClosed() }
    try await core.close()
  }

  private func noteClosed() {
    let isFirst = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return !isClosed
    }
    if isFirst { events?.emitLater(description, .closed) }
  }
}
