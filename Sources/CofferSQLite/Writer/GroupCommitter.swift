import CofferCSQLite
package import CofferCore
package import Foundation

/// The write connection of this process, which commits a group of batches with one sync.
///
/// Not thread-safe; the ``Writer`` lends it to one thread at a time.
package final class GroupCommitter {
  let connection: Connection
  let clock: StoreClock
  let rows: RowWriter
  private var compiled: CommitStatements?
  package private(set) lazy var statements = StatementCache(connection)

  let maximumValueSize: Int
  let events: CofferEvents?
  private var retention: JournalRetention
  private(set) var revision: StoreRevision
  /// The epoch of the history that this connection continues.
  private let epoch: UInt64
  /// The newest revision whose sync has returned, until ``takeDurableRevision()`` takes it.
  private var durableRevision: StoreRevision?
  /// Whether the database was replaced by an older state than this connection has seen.
  private(set) var hasLostItsHistory = false
  /// Whether rows were changed without a commit, so that the newest journal row must be updated.
  private var mustRewriteNewestRow = false
  private var isRecounting = false
  private var seenDataVersion: UInt32?
  /// Whether all values of the store are encrypted, so that it takes no plain ones; `nil` until a commit looks.
  var takesOnlyEnvelopes: Bool?
  private var isSynchronous = true
  /// Whether there may be relaxed commits not covered by a sync yet: at first also those of a process that was killed.
  private var hasUnsyncedCommits = true
  private static let fullCommitsBeforeExtension = 32
  private var fullCommits = 0
  /// The number of commits of this connection that have written to the log, counted by its hook.
  private let writes: UnsafeMutablePointer<UInt64>

  /// The size in bytes that the log is extended to once, so that commits overwrite it instead of growing it: a growing
  /// file makes a durable commit 1.6 times slower. It suffices for the checkpoint threshold.
  private static let logSize: Int64 = 32 + Int64(Checkpointer.threshold + 256) * (4_096 + 24)

  private let failure: SyncFailureFlag

  init(
    _ connection: Connection, epoch: UInt64, from revision: StoreRevision, configuration: SQLiteEngine.Configuration,
    failure: SyncFailureFlag
  ) throws {
    (self.epoch, self.revision) = (epoch, revision)
    self.failure = failure
    self.connection = connection
    clock = configuration.clock
    maximumValueSize = configuration.maximumValueSize
    events = configuration.storeEvents
    retention = JournalRetention(commits: configuration.journalRetention)
    try connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    // A log that a large value has grown shrinks again. (Apple's systems flush the device only with `fullfsync`.)
    try connection.execute(
      "PRAGMA cache_size = -8192; PRAGMA journal_size_limit = \(Self.logSize); PRAGMA fullfsync = ON")
    rows = try RowWriter(connection)
    writes = .allocate(capacity: 1)
    writes.initialize(to: 0)
    sqlite3_wal_hook(connection.handle, countWrites, writes)
  }

  deinit {
    sqlite3_wal_hook(connection.handle, nil, nil)
    writes.deallocate()
  }

  var logLimits = LogLimits()

  /// Whether the log has grown enough to be copied into the database; `true` once per threshold.
  func takeCheckpointDue() -> Bool { logLimits.takeDue(connection.log) }

  /// Whether trimming the journal is due.
  func takeTrimDue() -> Bool { retention.takeDue(at: revision) }

  /// Deletes the journal rows beyond the retention.
  func trimJournal() throws {
    try housekeep { try retention.trim(connection, newest: revision) }
  }

  /// Commits a batch at once; returns `nil` if another process is writing or the log has to be copied first.
  func commitWithoutWaiting(_ batch: PreparedBatch) -> Result<StoreRevision, any Error>? {
    // Copying and restarting the log sync, which only the writer's thread may do.
    guard let log = connection.log, log.copied < log.frames, !logLimits.isTooLong(log) else { return nil }
    connection.waitsForLock = false
    defer { connection.waitsForLock = true }
    let result = commit(batch, durability: .relaxed)
    if case .failure(let error as StorageError) = result, error.code == .busy { return nil }
    return result
  }

  /// Commits one batch and returns the revision after it.
  func commit(_ batch: PreparedBatch, durability: StoreDurability) -> Result<StoreRevision, any Error> {
    do { return try write(durability: durability) { try apply(batch) } } catch { return .failure(error) }
  }

  /// Commits a group and returns the revision after each batch. A batch that cannot be applied fails alone.
  func commit(_ group: [PreparedBatch], durability: StoreDurability) -> [Result<StoreRevision, any Error>] {
    guard group.count > 1 else { return group.map { commit($0, durability: durability) } }
    do {
      return try write(durability: durability) { try group.map(apply) }
    } catch let error as StorageError where ![.outcomeUnknown, .busy, .closed].contains(error.code) {
      // The transaction as a whole failed (no space left, for example): find the batch that causes it.
      var results: [Result<StoreRevision, any Error>] = []
      for batch in group {
        // After a failed sync nothing more is written. If the lock is missing, the rest waits for it in its order.
        if let failure = results.last?.lostSync {
          results.append(.failure(failure))
        } else if let last = results.last, last.isBusy {
          results.append(last)
        } else {
          results.append(commit(batch, durability: durability))
        }
      }
      return results
    } catch {
      return group.map { _ in .failure(error) }
    }
  }

  /// Runs `body` in a transaction and, if it changed anything, appends one commit to the journal.
  func transact<R>(
    _ header: TransactionHeader, _ body: (SQLiteDatabase.Transaction) throws -> R
  ) throws -> (R, StoreCommit?) {
    try write(durability: header.durability) {
      let changesBefore = sqlite3_total_changes64(connection.handle)
      let transaction = SQLiteDatabase.Transaction(self)
      defer { transaction.end() }
      let result = try body(transaction)
      guard sqlite3_total_changes64(connection.handle) != changesBefore else { return (result, nil) }
      let batch = PreparedBatch(
        WriteBatch(transaction.operations, transaction: header.transaction), origin: header.origin ?? StoreOrigin(),
        at: clock.now(), isForeign: header.origin == nil)
      try append(batch, at: revision.next)
      return (result, batch.commit(at: revision, groupSize: 1))
    }
  }

  /// Runs `body` in a transaction that is not journaled, for housekeeping: in a relaxed one, if it is to write.
  /// - Parameter rarelyWrites: whether the durability of the connection is left as it is. Changing it takes a tenth of
  ///   the instructions of a save.
  package func housekeep(rarelyWrites: Bool = false, _ body: () throws -> Void) throws {
    try write(durability: rarelyWrites && isSynchronous ? .full : .relaxed, isHousekeeping: true, body)
  }

  /// Starts the revisions of a store without commits after `base`, so that positions from an earlier incarnation of the
  /// store cannot denote other commits.
  func beginRevisions(after base: StoreRevision) throws {
    try write(durability: .full) {
      guard revision == .zero else { return }
      try append(PreparedBatch(WriteBatch(), origin: StoreOrigin(), at: clock.now(), isForeign: true), at: base)
    }
  }

  /// Makes all relaxed commits survive power loss.
  /// - Throws: `outcomeUnknown` if the sync fails.
  func sync() throws {
    guard hasUnsyncedCommits else { return }
    let code = coffer_sqlite_log_sync(connection.handle)
    guard code == SQLITE_OK else { throw lostSync(code) }
    hasUnsyncedCommits = false
    // Not what others have announced: that may be lost.
    if revision > .zero, seenDataVersion != nil { durableRevision = revision }
  }

  // MARK: One transaction

  private func commitStatements() throws -> CommitStatements {
    if let compiled { return compiled }
    let statements = try CommitStatements(connection)
    compiled = statements
    return statements
  }

  private func write<R>(
    durability: StoreDurability, isHousekeeping: Bool = false, _ body: () throws -> R
  ) throws -> R {
    if durability == .full, !isHousekeeping { try extendLogIfBusy() }
    try setSynchronous(durability == .full)
    let statements = try commitStatements()
    try statements.begin.run()
    if connection.waitsForLock, logLimits.isTooLong(connection.log) {
      connection.rollBack()
      try startLogAgain(isTooLong: true)
      try statements.begin.run()
    }
    let (revisionBefore, liveBefore) = (revision, rows.live)
    let writesBefore = writes.pointee
    do {
      if failure.isGiven() { throw StorageError.failureElsewhere(connection.file) }
      try refreshRevision(statements.newestRow)
      let result = try body()
      guard connection.isInTransaction else { throw endedTransaction }
      if mustRewriteNewestRow { try rewriteNewestRow() }
      try finish(statements.commit)
      // The failing process releases the write lock an instant before it can set the flag.
      if failure.isGiven() { throw unknownOutcome(nil) }
      seenDataVersion = coffer_sqlite_data_version(connection.handle)
      // A commit that wrote nothing has synced nothing; SQLite's count of changed rows omits changes of the schema.
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

  private func finish(_ commit: Statement) throws {
    do {
      try commit.run()
    } catch let error as StorageError {
      let code = Int32(truncatingIfNeeded: error.underlying?.code ?? 0)
      throw coffer_sqlite_is_lost_sync(code) == 1 ? lostSync(code) : error
    }
  }

  /// Sets the failure sign and returns the error. After a failed sync the contents of the device are unknown, and a
  /// second sync could report success wrongly.
  func lostSync(_ code: Int32) -> StorageError {
    failure.give()
    return unknownOutcome(connection.error(code))
  }

  private func unknownOutcome(_ cause: StorageError?) -> StorageError {
    StorageError(
      .outcomeUnknown, "The device failed while confirming a commit, which may or may not have been stored.",
      advice: "The store was closed. Check the device, then reopen the store and check its contents.",
      location: connection.file.description, underlying: cause?.underlying)
  }

  private func setSynchronous(_ isFull: Bool) throws {
    guard isFull != isSynchronous else { return }
    try connection.execute(isFull ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
    isSynchronous = isFull
  }

  /// Reads the newest journal row if another connection has committed since the last commit of this one.
  private func refreshRevision(_ newestRow: Statement) throws {
    let dataVersion = coffer_sqlite_data_version(connection.handle)
    guard dataVersion != seenDataVersion else { return }
    takesOnlyEnvelopes = nil
    defer { newestRow.reset() }
    if try newestRow.step() {
      let (row, isWhole) = JournalRow.read(newestRow)
      guard isWhole || isRecounting else { throw StorageError.damagedJournal(connection.file) }
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
    throw History.wentBack(from: revision, to: found, connection.file)
  }

  /// Returns the newest revision whose sync has returned, or `nil` if it was returned before.
  func takeDurableRevision() -> StoreRevision? {
    defer { durableRevision = nil }
    return durableRevision
  }

  /// Extends the log with zeros after several durable commits of this process: overwriting costs one flush, growing
  /// costs more. A process that saves only a few values avoids the cost.
  private func extendLogIfBusy() throws {
    fullCommits += 1
    guard fullCommits == Self.fullCommitsBeforeExtension,
      coffer_sqlite_log_size(connection.handle) < Self.logSize
    else { return }
    try commitStatements().begin.run()
    defer { connection.rollBack() }
    // If there is no space for it, commits are only slower. A failed sync is an error.
    let code = coffer_sqlite_log_extend(connection.handle, Self.logSize)
    if coffer_sqlite_is_lost_sync(code) == 1 { throw lostSync(code) }
  }

  // MARK: One batch

  private func apply(_ batch: PreparedBatch) throws -> Result<StoreRevision, any Error> {
    if batch.traits.contains(.conditions), let failed = try failedCondition(of: batch) {
      return .failure(StorageError.preconditionFailed(failed, location: connection.file.description))
    }
    // A batch that changes the ring itself replaces what the store has: the restoration of a backup.
    if takesOnlyEnvelopes != false, let key = batch.operations.firstPlainKey, try refusesPlainValues(),
      !batch.selection.records.contains(.keyRing)
    {
      return .failure(StorageError.takesOnlyEnvelopes(key, location: connection.file.description))
    }
    guard batch.isChange else { return .success(revision) }
    let next = revision.next
    if let hook = batch.hook {
      let transaction = SQLiteDatabase.Transaction(self)
      defer { transaction.end() }
      try hook.apply(transaction)
    } else {
      for operation in batch.operations { try rows.apply(operation, at: next) }
    }
    if batch.traits.contains(.records) { takesOnlyEnvelopes = nil }
    try append(batch, at: next)
    return .success(next)
  }

  /// Returns the key, or the name of the record, of the first condition that does not hold.
  private func failedCondition(of batch: PreparedBatch) throws -> KeyName? {
    for case .require(let key, let expected) in batch.operations
    where try rows.revision(of: key, presentAt: batch.isSweep ? nil : batch.date) != expected { return key }
    for case .requireRecord(let name, let expected) in batch.operations
    where try rows.recordRevision(of: name) != expected { return name.key }
    return nil
  }

  /// Applies one operation inside the current transaction, at the revision that the transaction will have.
  func applyNow(_ operation: WriteBatch.Operation) throws {
    // A closure that continues after the error has a transaction without any effect of this statement.
    let before = rows.live
    do {
      try rows.apply(operation, at: revision.next)
    } catch {
      rows.live = before
      throw error
    }
  }

  /// Replaces an internal value without a commit; its revision stays.
  package func rewrite(_ key: KeyName, _ value: Data) throws {
    if try rows.rewrite(key, value) { mustRewriteNewestRow = true }
  }

  /// Recounts the rows and stores the result as the expected contents, accepting any loss.
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
    let newestRow = try commitStatements().newestRow
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
    let insert = try commitStatements().appendJournal
    try withUnsafeBytes(of: batch.transaction.uuid) { transaction in
      try withUnsafeBytes(of: batch.origin.handle.uuid) { origin in
        try batch.journalEntry.withUnsafeBytes { changed in
          let row = JournalRow(
            revision: next, epoch: epoch, transaction: batch.isForeign ? nobody : transaction,
            origin: batch.isForeign ? nobody : origin, committedAt: batch.date.unixMilliseconds, changed: changed,
            live: rows.live)
          row.bind(to: insert)
          defer { insert.reset() }
          _ = try insert.step()
        }
      }
    }
    revision = next
    mustRewriteNewestRow = false
    retention.count(bytes: batch.journalEntry.count)
  }
}

/// Called by SQLite after each commit that wrote to the log.
private nonisolated func countWrites(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, _: Int32
) -> Int32 {
  context?.assumingMemoryBound(to: UInt64.self).pointee += 1
  return SQLITE_OK
}
