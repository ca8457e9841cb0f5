import CofferCSQLite
import CofferCore
import Foundation

/// The history of a store, and the comparison of its journal with its wake-up file.
///
/// A history is identified by its epoch, a random number. A new epoch is drawn when the store leaves its history: an
/// older copy was restored, the wake-up file was lost, or commits were lost. Journal positions contain the epoch.
struct History {
  let store: UInt64
  var epoch: UInt64
  /// The newest revision in the journal.
  var revision: StoreRevision
  /// The loss that was not accepted yet, if any.
  var loss: LossReport?

  /// Reads the history from the database, in the current transaction if there is one.
  init(_ connection: Connection) throws {
    try self.init(connection, StoreMeta(connection))
  }

  /// Reads the history of a store whose facts were read already.
  init(_ connection: Connection, _ meta: StoreMeta) throws {
    store = meta.store.map(Self.fold) ?? 0
    epoch = meta.epoch
    revision = StoreRevision(UInt64(bitPattern: try connection.number("SELECT max(revision) FROM coffer_journal") ?? 0))
    loss = LossReport(meta)
  }

  /// Returns the 64-bit FNV-1a hash of a store's name.
  private static func fold(_ name: String) -> UInt64 {
    name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private func words(_ file: UInt64) -> WakeWords {
    WakeWords(announced: revision, durable: revision, store: store, epoch: epoch, file: file)
  }

  // MARK: Opening

  /// Reconciles the wake-up file with the journal, and draws a new epoch if they do not belong to one history.
  ///
  /// Revisions that the file announces beyond the journal were lost; the loss is recorded in the database.
  /// - Parameters:
  ///   - found: the history in the database.
  ///   - file: the inode of the database.
  ///   - changedAt: when the database had been changed last, before it was opened.
  ///   - closing: the words of the file before `changedAt` was looked up.
  static func agree(
    _ found: History, _ connection: Connection, _ wake: WakeFile, file: UInt64, changedAt: UInt64?,
    closing: WakeWords?, now: Int64
  ) throws -> History {
    var found = found
    // Others may have committed since it was read.
    if !found.continues(wake.words, file, changedAt, closing) { found = try History(connection) }
    if found.continues(wake.words, file, changedAt, closing) { return found.resume(wake, file) }
    guard try connection.beginWithoutWaitingLong() else {
      // A writer may hang; reads must stay possible. The next opening of the store reconciles again.
      return found.resume(wake, file)
    }
    defer { connection.rollBack() }
    var history = try History(connection)
    let words = wake.words
    guard !history.continues(words, file, changedAt, closing) else { return history.resume(wake, file) }
    if words.store == history.store, let announced = words.announced, announced > history.revision {
      let loss = LossReport(
        after: history.revision, upTo: announced, durableUpTo: min(announced, words.durable ?? .zero),
        foundAt: Date(unixMilliseconds: now))
      history.loss = history.loss.map { $0.joined(loss) } ?? loss
      try history.loss?.write(connection)
      // A revision that was announced is never assigned again.
      try history.append(after: announced, connection, now)
    }
    history.epoch = .random(in: 1...UInt64(Int64.max))
    try connection.execute("UPDATE coffer_meta SET value = \(history.epoch) WHERE name = 'epoch'")
    try connection.execute("COMMIT")
    // The present content of the log may not be synced; the durable mark is set by the next sync.
    var fresh = history.words(file)
    fresh.durable = .zero
    wake.reset(to: fresh)
    return history
  }

  /// Whether the words of the wake-up file belong to this history. The journal may contain commits that a writer did
  /// not announce. A database that was changed since the store was closed may be an older one, put back with its
  /// wake-up file; one whose store another process has closed since `closing` is not.
  private func continues(_ words: WakeWords, _ file: UInt64, _ changedAt: UInt64?, _ closing: WakeWords?) -> Bool {
    guard words.store == store, words.epoch == epoch, words.file == file, let announced = words.announced else {
      return false
    }
    if words.closedAt != nil, words.closedAt == closing?.closedAt, words.changedAt == closing?.changedAt,
      words.changedAt != 0, let changedAt, changedAt != words.changedAt
    {
      return false
    }
    return announced <= revision && (words.durable ?? .zero) <= revision
  }

  private func resume(_ wake: WakeFile, _ file: UInt64) -> History {
    wake.resume(at: revision)
    return self
  }

  /// Appends a commit without origin that selects everything as changed, for subscribers that saw earlier revisions.
  mutating func append(after announced: StoreRevision, _ connection: Connection, _ now: Int64) throws {
    let newest = try connection.prepare(JournalRow.newest)
    let live = try newest.step() ? JournalRow.read(newest).row.live : LiveRows()
    newest.reset()
    revision = announced.next
    let nobody = UnsafeRawBufferPointer(start: nil, count: 0)
    let insert = try connection.prepare(JournalRow.insert)
    try StoreSelection.everything.encoded().withUnsafeBytes { changed in
      JournalRow(
        revision: revision, epoch: epoch, transaction: nobody, origin: nobody, committedAt: now, changed: changed,
        live: live
      ).bind(to: insert)
      try insert.run()
    }
  }

  // MARK: In use

  /// Returns the error of an open store whose journal is another one than before: an older state or another store
  /// replaced it.
  static func wentBack(from known: StoreRevision, to found: StoreRevision, _ file: StoreFile) -> StorageError {
    StorageError(
      .closed,
      found < known
        ? "The store was replaced by an older state while it was open: revision \(found) after \(known)."
        : "The store was replaced by another one while it was open.",
      advice: "Open the store again. Commits after that state are not in it.", location: file.description)
  }
}

extension Connection {
  /// Begins a write transaction, waiting for the write lock for about a second.
  /// - Returns: `false` if the lock was not available.
  fileprivate func beginWithoutWaitingLong() throws -> Bool {
    waitsForLock = false
    defer { waitsForLock = true }
    for _ in 0..<200 {
      do {
        try execute("BEGIN IMMEDIATE")
        return true
      } catch let error as StorageError where error.code == .busy {
        usleep(5_000)
      }
    }
    return false
  }
}
