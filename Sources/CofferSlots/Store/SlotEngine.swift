public import CofferCore
package import CofferSQLite

/// A storage engine over a home that can only read, write and delete one named thing.
///
/// The order of a commit: the new values are put aside in the home; the journal commits what belongs where, at once for
/// the whole batch; the values are moved to their places; the journal notes that nothing is left to do. From the commit
/// of the journal on the batch has happened: who reads finds the new values, in their places or aside, and whoever
/// writes or opens the store next moves what a killed writer has left.
///
/// What others do to the home, who do not know this engine, is heard as a commit without transaction and origin.
/// `.relaxed` commits are as durable as `.full` ones: a batch whose values are not all on the device could be left half
/// done by a power loss.
///
/// Where the journal's directory cannot be written, a home is opened for reading only, as ``isReadOnly`` tells. Commits
/// throw `permissionDenied` then, commits by other processes are looked for once per second, and edits by others are
/// read and not heard. A snapshot cannot keep a value that is replaced meanwhile: reading it throws `unavailable`.
public final class SlotEngine: StorageEngine {
  private let core: any SlotCore

  public var capabilities: StoreCapabilities { core.capabilities }

  /// How messages call the store.
  public var description: String { core.description }

  /// Whether nothing can be written, since the place does not allow it.
  public var isReadOnly: Bool { core.obstacleToWriting != nil }

  /// Why nothing can be written; `nil` when it can.
  package var obstacleToWriting: StorageError? { core.obstacleToWriting }

  /// Opens a home, finishing what a killed writer has left and taking in what others have changed meanwhile.
  ///
  /// A home that is not available now is opened, too: its uses throw `unavailable` until it is.
  /// - Parameters:
  ///   - slots: the home.
  ///   - directory: where the journal is kept, an existing directory of this engine's own on a local file system.
  ///   - name: what messages call the store, such as `file:/var/lib/shop`.
  ///   - configuration: how it is opened.
  /// - Throws: `StorageError` as ``SQLiteEngine/open(at:configuration:)`` does, for the journal, and what the home
  ///   throws but `unavailable`.
  package static func open(
    _ slots: any Slots, journalIn directory: String, name: String,
    configuration: SlotConfiguration = SlotConfiguration()
  ) async throws -> SlotEngine {
    SlotEngine(try await SlotStore.open(slots, journalIn: directory, name: name, configuration: configuration))
  }

  /// The same for callers that cannot suspend. It blocks their thread while the journal is opened; recovery goes on
  /// afterwards, and listings wait for it.
  package convenience init(
    _ slots: any Slots, journalIn directory: String, name: String, configuration: SlotConfiguration
  ) throws {
    self.init(try SlotStore(slots, journalIn: directory, name: name, configuration: configuration))
  }

  /// Opens a home for reading only. It blocks the caller while the journal is opened, if there is one.
  /// - Parameters:
  ///   - slots: the home, opened without making anything.
  ///   - reason: what ``SlotObstacle/reason(control:)`` gives.
  package convenience init(
    readOnly slots: any Slots, journalIn directory: String, name: String, configuration: SlotConfiguration,
    because reason: String
  ) throws {
    self.init(
      try ReadOnlySlotStore(slots, journalIn: directory, name: name, configuration: configuration, because: reason))
  }

  private init(_ core: any SlotCore) { self.core = core }

  /// Stands for a home that could not be opened until it can be.
  package static func reopening(
    after error: any Error, description: String, _ configuration: SlotConfiguration,
    open: @escaping @Sendable () async throws -> SlotEngine
  ) -> ReopeningEngine {
    let capabilities = StoreCapabilities(SQLiteEngine.features, maximumValueSize: configuration.maximumValueSize)
    return ReopeningEngine(error, description: description, capabilities: capabilities, open: open)
  }

  /// What opening had to mend.
  public func recoveryReport() async throws -> RecoveryReport { try await core.recoveryReport() }

  public var latestRevision: StoreRevision { core.latestRevision }
  public var latestPosition: JournalPosition { core.latestPosition }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await core.commit(batch, from: origin)
  }

  public func entry(_ key: StoreKey) async throws -> StoreEntry? { try await core.entry(key) }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await core.withSnapshot(body)
  }

  public func record(_ name: SystemRecordName) async throws -> SystemRecord? { try await core.record(name) }

  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? { try await core.summary(of: key) }

  /// How many replaced values are kept for snapshots, by all processes that have the store open.
  package func retainedCount() async throws -> Int { try await core.retainedCount() }

  /// Does something to the home while no process carries out a commit.
  package func alone(_ body: @escaping @Sendable () throws -> Void) async throws { try await core.alone(body) }

  /// The home, for what only its kind can do.
  package var slots: any Slots { core.slots }

  /// The journal, for tools that look at its file; `nil` where there is none, and none can be made.
  package var journal: SQLiteEngine? { core.journal }

  public func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { core.recentCommits(after: revision) }
  public func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { core.changes(since: position) }
  public func availability() -> AsyncStream<StoreAvailability> { core.availability() }
  public func flush() async throws { try await core.flush() }
  public func close() async throws { try await core.close() }
}

/// What a ``SlotEngine`` stands on: a home that can be written, or one that can only be read.
protocol SlotCore: StorageEngine {
  var slots: any Slots { get }
  var journal: SQLiteEngine? { get }
  var obstacleToWriting: StorageError? { get }

  func recoveryReport() async throws -> RecoveryReport
  func retainedCount() async throws -> Int
  func alone(_ body: @escaping @Sendable () throws -> Void) async throws
}
