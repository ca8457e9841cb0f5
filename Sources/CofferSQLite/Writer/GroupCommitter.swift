import CofferCSQLite
package import CofferCore
package import Foundation

/// The one connection of this process that writes: takes a group of batches and commits them with one sync.
///
/// Not thread-safe; the ``Writer`` gives it to one thread at a time.
package final class GroupCommitter {
  let connection: Connection
  let clock: StoreClock
  private let begin, commitStatement, appendJournal, newestRow: Statement
  private let rows: RowWriter
  package private(set) lazy var statements = StatementCache(connection)

  let maximumValueSize: Int
  private var retention: JournalRetention
  private(set) var revision = StoreRevision.zero
  /// The history that this connection writes on with.
  private(set) var epoch: UInt64 = 0
  /// The newest revision whose sync has returned, until somebody has taken it.
  private var durableRevision: StoreRevision?
  /// Whether an older state was put in the place of the one that this connection knows.
  private(set) var hasLostItsHistory = false
  /// Whether rows were changed without a commit of their own, so that the newest journal row must be written again.
  private var mustRewriteNewestRow = false
  private var isRecounting = false
  private var seenDataVersion: UInt32?
  private var isSynchronous = true
  /// Whether there are relaxed commits that no sync has covered yet.
  private var hasUnsyncedCommits = false
  private static let fullCommitsBeforeExtension = 32
  private var fullCommits = 0
  /// How many own commits have written to the log; counted by its hook.
  private let writes: UnsafeMutablePointer<UInt64>

  /// The size that the log is filled up to once, so that commits overwrite it instead of growing it: a growing file
  /// makes a durable commit 1.6 times slower. Enough for the checkpoint threshold.
  private static let logSize: Int64 = 32 + Int64(Checkpointer.threshold + 256) * (4_096 + 24)

  private let failure: FailureSign

  init(_ place: StorePlace, configuration: SQLiteConfiguration, failure: FailureSign) throws {
    self.failure = failure
    connection = try Connection(place)
    clock = configuration.clock
    maximumValueSize = configuration.maximumValueSize
    retention = JournalRetention(commits: configuration.journalRetention)
    try connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF")
    // A log that one large value has blown up shrinks again. (`fullfsync` is what Apple's systems need to mean it.)
    try connection.execute(
      "PRAGMA cache_size = -8192; PRAGMA journal_size_limit = \(Self.logSize); PRAGMA fullfsync = ON")
    rows = try RowWriter(connection)
    begin = try connection.prepare("BEGIN IMMEDIATE")
    commitStatement = try connection.prepare("COMMIT")
    appendJournal = try connection.prepare(JournalRow.insert)
    newestRow = try connection.prepare(JournalRow.newest)
    writes = .allocate(capacity: 1)
    writes.initialize(to: 0)
    epoch = try History.firstEpoch(connection)
    sqlite3_wal_hook(connection.handle, countWrites, writes)
  }

  deinit {
    sqlite3_wal_hook(connection.handle, nil, nil)
    writes.deallocate()
  }

  var logLimits = LogLimits()

  /// Whether the log has grown enough to be copied into the database; says so once per threshold.
  func takeCheckpointDue() -> Bool { logLimits.takeDue(connection.log) }

  /// Whether the journal has become longer than it should be.
  func takeTrimDue() -> Bool { retention.takeDue(at: revision) }

  /// Deletes the oldest journal rows, those beyond the retention.
  func trimJournal() throws {
    try housekeep { try retention.trim(connection, newest: revision) }
  }

  /// Commits a batch now, or says `nil` when another process is writing.
  func commitWithoutWaiting(_ batch: PreparedBatch) -> Result<StoreRevision, any Error>? {
    // Copying the log and starting it again sync, so they are the thread's.
    guard let log = connection.log, log.copied < log.frames, !logLimits.isTooLong(log) else { return nil }
    connection.waitsForLock = false
    defer { connection.waitsForLock = true }
    let result = commit([batch], durability: .relaxed)[0]
    if case .failure(let error as StorageError) = result, error.code == .busy { return nil }
    return result
  }

  /// Commits a group and answers with the revision after each batch. A batch that cannot be applied fails alone.
  func commit(_ group: [PreparedBatch], durability: StoreDurability) -> [Result<StoreRevision, any Error>] {
    do {
      return try write(durability: durability) { try group.map(apply) }
    } catch let error as StorageError where group.count > 1 && ![.outcomeUnknown, .busy, .closed].contains(error.code) {
      // Something that only the transaction as a whole could find out (no space, say): find the batch that it is.
      var results: [Result<StoreRevision, any Error>] = []
      for batch in group {
        // After a failed sync nothing more is asked of the device.
        if let failure = results.last?.lostSync {
          results.append(.failure(failure))
        } else {
          results += commit([batch], durability: durability)
        }
      }
      return results
    } catch {
      return group.map { _ in .failure(error) }
    }
  }

  /// Runs `body` in a transaction and, if it changed anything, journals it as one commit.
  func transact<R>(_ header: TransactionHeader, _ body: (SQLiteTransaction) throws -> R) throws -> (R, StoreCommit?) {
    try write(durability: header.durability) {
      let changesBefore = sqlite3_total_changes64(connection.handle)
      let transaction = SQLiteTransaction(self)
      defer { transaction.end() }
      let result = try body(transaction)
      guard sqlite3_total_changes64(connection.handle) != changesBefore else { return (result, nil) }
      let batch = PreparedBatch(
        WriteBatch(transaction.operations, transaction: header.transaction), origin: header.origin ?? StoreOrigin(),
        at: clock.now(), isApplied: true, isForeign: header.origin == nil)
      try append(batch, at: revision.next)
      return (result, batch.commit(at: revision))
    }
  }

  /// Runs `body` in a transaction that the journal does not mention: housekeeping.
  package func housekeep(_ body: () throws -> Void) throws {
    try write(durability: .relaxed, body)
  }

  /// Lets the revisions of a store that has none begin after a number: positions of an earlier life of the store must
  /// not mean something else in this one.
  func beginRevisions(after base: StoreRevision) throws {
    try write(durability: .full) {
      guard revision == .zero else { return }
      try append(PreparedBatch(WriteBatch(), origin: StoreOrigin(), at: clock.now(), isForeign: true), at: base)
    }
  }

  /// Makes all relaxed commits survive power loss.
  func sync() throws {
    guard hasUnsyncedCommits else { return }
    let code = coffer_sqlite_log_sync(connection.handle)
    guard code == SQLITE_OK else { throw lostSync(code) }
    hasUnsyncedCommits = false
    durableRevision = revision
  }

  // MARK: One transaction

  private func write<R>(durability: StoreDurability, _ body: () throws -> R) throws -> R {
    if durability == .full { try extendLogIfBusy() }
    try setSynchronous(durability == .full)
    try begin.run()
    if connection.waitsForLock, logLimits.isTooLong(connection.log) {
      connection.rollBack()
      try startLogAgain(isTooLong: true)
      try begin.run()
    }
    let (revisionBefore, liveBefore) = (revision, rows.live)
    let writesBefore = writes.pointee
    do {
      if failure.isGiven() { throw StorageError.failureElsewhere(connection.place) }
      try refreshRevision()
      let result = try body()
      guard connection.isInTransaction else { throw endedTransaction }
      if mustRewriteNewestRow { try rewriteNewestRow() }
      try finish()
      // The failing process lets go of the write lock an instant before it can give the sign.
      if failure.isGiven() { throw unknownOutcome(nil) }
      seenDataVersion = coffer_sqlite_data_version(connection.handle)
      // A commit that wrote nothing has synced nothing; SQLite counts no changes of the schema as changes of rows.
      if writes.pointee != writesBefore {
        hasUnsyncedCommits = durability == .relaxed
        if durability == .full { durableRevision = revision }
      }
      return result
    } catch {
      connection.rollBack()
      revision = revisionBefore
      rows.live = liveBefore
      mustRewriteNewestRow = false
      seenDataVersion = nil
      throw error
    }
  }

  /// What somebody hears whose statements have ended the transaction, or whose error had made SQLite end it.
  var endedTransaction: StorageError {
    StorageError(
      .statementFailed, "The transaction has ended before its work was done.",
      advice: "Nothing of it was stored. Let errors of statements end the closure, and do not commit inside it.",
      backend: connection.place.description)
  }

  private func finish() throws {
    do {
      try commitStatement.run()
    } catch let error as StorageError {
      let code = Int32(truncatingIfNeeded: error.underlying?.code ?? 0)
      throw coffer_sqlite_is_lost_sync(code) == 1 ? lostSync(code) : error
    }
  }

  /// After a failed sync nobody knows which bytes the device has; asking again would be answered with a lie.
  func lostSync(_ code: Int32) -> StorageError {
    failure.give()
    return unknownOutcome(connection.error(code))
  }

  private func unknownOutcome(_ cause: StorageError?) -> StorageError {
    StorageError(
      .outcomeUnknown, "The device failed while it confirmed a commit: it may or may not have been stored.",
      advice: "The store has closed itself. Check the device, open the store again and look at what it holds.",
      backend: connection.place.description, underlying: cause?.underlying)
  }

  private func setSynchronous(_ isFull: Bool) throws {
    guard isFull != isSynchronous else { return }
    try connection.execute(isFull ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
    isSynchronous = isFull
  }

  /// Reads what the store holds when somebody else has committed since our last commit.
  private func refreshRevision() throws {
    let dataVersion = coffer_sqlite_data_version(connection.handle)
    guard dataVersion != seenDataVersion else { return }
    defer { newestRow.reset() }
    if try newestRow.step() {
      let (row, isWhole) = JournalRow.read(newestRow)
      guard isWhole || isRecounting else { throw StorageError.damagedJournal(connection.place) }
      try requireHistory(upTo: row.revision)
      (revision, rows.live) = (row.revision, row.live)
    } else {
      try requireHistory(upTo: .zero)
      rows.live = LiveRows()
    }
    seenDataVersion = dataVersion
  }

  private func requireHistory(upTo found: StoreRevision) throws {
    guard found < revision else { return }
    hasLostItsHistory = true
    throw History.wentBack(from: revision, to: found, connection.place)
  }

  /// The newest revision whose sync has returned, if that is news.
  func takeDurableRevision() -> StoreRevision? {
    defer { durableRevision = nil }
    return durableRevision
  }

  /// Fills the log up with zeros once this process has shown that it commits often: overwriting costs one flush,
  /// growing more. Who saves a value or two does not pay for it.
  private func extendLogIfBusy() throws {
    fullCommits += 1
    guard fullCommits == Self.fullCommitsBeforeExtension,
      coffer_sqlite_log_size(connection.handle) < Self.logSize
    else { return }
    try begin.run()
    defer { connection.rollBack() }
    // Without the space for it everything still works, only slower. A failed sync is another matter.
    let code = coffer_sqlite_log_extend(connection.handle, Self.logSize)
    if coffer_sqlite_is_lost_sync(code) == 1 { throw lostSync(code) }
  }

  // MARK: One batch

  private func apply(_ batch: PreparedBatch) throws -> Result<StoreRevision, any Error> {
    for case .require(let key, let expected) in batch.operations where try rows.revision(of: key) != expected {
      return .failure(StorageError.preconditionFailed(key, backend: connection.place.description))
    }
    for case .requireRecord(let name, let expected) in batch.operations
    where try rows.recordRevision(of: name) != expected {
      return .failure(StorageError.preconditionFailed(name.key, backend: connection.place.description))
    }
    guard batch.isChange else { return .success(revision) }
    let next = revision.next
    if let hook = batch.hook {
      let transaction = SQLiteTransaction(self)
      defer { transaction.end() }
      try hook.apply(transaction)
    }
    for (operation, checksum) in zip(batch.operations, batch.checksums) {
      try rows.apply(operation, checksum: checksum, at: next)
    }
    try append(batch, at: next)
    return .success(next)
  }

  /// Applies one operation inside the present transaction, at the revision that the transaction will have.
  func applyNow(_ operation: WriteBatch.Operation) throws {
    var sum: UInt32 = 0
    if case .put(let key, let value, let attributes) = operation {
      sum = attributes.encoded.withUnsafeBytes { including($0, in: checksum(key, value)) }
    } else if case .putRecord(let name, let content) = operation {
      sum = checksum(name.key, content)
    }
    // Whoever goes on after an error has a transaction in which this statement has done nothing.
    let before = rows.live
    do {
      try rows.apply(operation, checksum: sum, at: revision.next)
    } catch {
      rows.live = before
      throw error
    }
  }

  /// Changes a value that is no user's, without a commit: the revision stays.
  package func rewrite(_ key: StoreKey, _ value: Data) throws {
    if try rows.rewrite(key, value) { mustRewriteNewestRow = true }
  }

  /// Takes the rows that are there for all there are.
  func recount() throws {
    isRecounting = true
    defer { isRecounting = false }
    try write(durability: .full) {
      rows.live = try rows.count()
      mustRewriteNewestRow = true
    }
  }

  private func rewriteNewestRow() throws {
    mustRewriteNewestRow = false
    defer { newestRow.reset() }
    guard try newestRow.step() else { return }
    let row = JournalRow.read(newestRow).row.holding(rows.live)
    try statements.execute(
      JournalRow.rewriteLive,
      [
        .integer(Int64(bitPattern: row.revision.rawValue)), .integer(row.live.count),
        .integer(Int64(bitPattern: row.live.digest)), .integer(Int64(row.checksum)),
      ])
  }

  private func append(_ batch: PreparedBatch, at next: StoreRevision) throws {
    let nobody = UnsafeRawBufferPointer(start: nil, count: 0)
    try withUnsafeBytes(of: batch.transaction.uuid) { transaction in
      try withUnsafeBytes(of: batch.origin.handle.uuid) { origin in
        try batch.journalEntry.withUnsafeBytes { changed in
          let row = JournalRow(
            revision: next, epoch: epoch, transaction: batch.isForeign ? nobody : transaction,
            origin: batch.isForeign ? nobody : origin, committedAt: batch.date.unixMilliseconds, changed: changed,
            live: rows.live)
          row.bind(to: appendJournal)
          defer { appendJournal.reset() }
          _ = try appendJournal.step()
        }
      }
    }
    revision = next
    mustRewriteNewestRow = false
    retention.count(bytes: batch.journalEntry.count)
  }
}

extension Result {
  /// The error of a device that has not confirmed a commit.
  var lostSync: StorageError? {
    guard case .failure(let error as StorageError) = self, error.code == .outcomeUnknown else { return nil }
    return error
  }
}

/// The origin, the id and the durability of a transaction.
package struct TransactionHeader: Sendable {
  /// `nil` for a writer that does not know us.
  let origin: StoreOrigin?
  let transaction: TransactionID?
  let durability: StoreDurability

  /// A transaction of this origin and durability, under a fresh id unless one is given.
  package init(origin: StoreOrigin?, transaction: TransactionID? = nil, durability: StoreDurability) {
    self.origin = origin
    self.transaction = transaction
    self.durability = durability
  }
}

/// Called by SQLite after each commit that wrote something.
private nonisolated func countWrites(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, _: Int32
) -> Int32 {
  context?.assumingMemoryBound(to: UInt64.self).pointee += 1
  return SQLITE_OK
}
