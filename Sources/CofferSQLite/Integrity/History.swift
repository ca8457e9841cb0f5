import CofferCSQLite
import CofferCore
import Foundation

/// Which history a store is in, and what a comparison of its journal with its wake-up file says about it.
///
/// A history is named by its epoch, a random number that is drawn anew by whatever takes the store to another one: an
/// old copy that was put back, a lost wake-up file, accepted loss. Positions that travel carry it.
struct History {
  let store: UInt64
  var epoch: UInt64
  /// The newest revision of the journal.
  var revision: StoreRevision
  /// What was lost since somebody looked last, if anything.
  var loss: LossReport?

  /// Reads what the database says, in the present transaction.
  init(_ connection: Connection) throws {
    store = try connection.word("SELECT value FROM coffer_meta WHERE name = 'store'").map(Self.fold) ?? 0
    epoch = try Self.firstEpoch(connection)
    revision = StoreRevision(UInt64(bitPattern: try connection.number("SELECT max(revision) FROM coffer_journal") ?? 0))
    loss = try LossReport.read(connection)
  }

  static func firstEpoch(_ connection: Connection) throws -> UInt64 {
    UInt64(bitPattern: try connection.number("SELECT value FROM coffer_meta WHERE name = 'epoch'") ?? 0)
  }

  /// The name of a store as one number.
  private static func fold(_ name: String) -> UInt64 {
    name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  private func words(_ file: UInt64) -> WakeWords {
    WakeWords(announced: revision, durable: revision, store: store, epoch: epoch, file: file)
  }

  // MARK: Opening

  /// Makes the wake-up file say what the journal says, and draws a new epoch where they do not belong together. What
  /// the file knows beyond the journal was lost, and is noted in the database.
  static func agree(
    _ connection: Connection, _ wake: WakeFile, file: UInt64, now: Int64
  ) throws -> History {
    let found = try History(connection)
    if found.continues(wake.words, file) { return found.resume(wake, file) }
    guard try connection.beginWithoutWaitingLong() else {
      // Somebody is writing and hangs, perhaps: reading must go on. The next one who opens the store comes back to it.
      return found.resume(wake, file)
    }
    defer { connection.rollBack() }
    var history = try History(connection)
    let words = wake.words
    guard !history.continues(words, file) else { return history.resume(wake, file) }
    if words.store == history.store, let announced = words.announced, announced > history.revision {
      let loss = LossReport(
        after: history.revision, upTo: announced, durableUpTo: min(announced, words.durable ?? .zero),
        foundAt: Date(unixMilliseconds: now))
      history.loss = history.loss.map { $0.joined(loss) } ?? loss
      try history.loss?.write(connection)
      // No number that was given out is given out again.
      try history.append(after: announced, connection, now)
    }
    history.epoch = .random(in: 1...UInt64(Int64.max))
    try connection.execute("UPDATE coffer_meta SET value = \(history.epoch) WHERE name = 'epoch'")
    try connection.execute("COMMIT")
    // What is in the log now may not have been synced; the marks begin with the next sync.
    var fresh = history.words(file)
    fresh.durable = .zero
    wake.reset(to: fresh)
    return history
  }

  /// Whether the file's numbers are those of this history, up to what a writer had no time to announce.
  private func continues(_ words: WakeWords, _ file: UInt64) -> Bool {
    guard words.store == store, words.epoch == epoch, words.file == file, let announced = words.announced else {
      return false
    }
    return announced <= revision && (words.durable ?? .zero) <= revision
  }

  private func resume(_ wake: WakeFile, _ file: UInt64) -> History {
    wake.resume(at: revision)
    return self
  }

  /// Adds a commit of nobody's that has changed everything, for whoever has seen the numbers before it.
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

  /// The journal of an open store has fewer commits than it had: somebody has put an older state in its place.
  static func wentBack(from known: StoreRevision, to found: StoreRevision, _ place: StorePlace) -> StorageError {
    StorageError(
      .closed, "An older state was put in the place of the store while it was open: revision \(found) after \(known).",
      advice: "Open the store again. What was committed after that state is not in it.", backend: place.description)
  }
}

extension Connection {
  /// Takes the write lock, if nobody holds it for more than a second.
  fileprivate func beginWithoutWaitingLong() throws -> Bool {
    waitsForLock = false
    defer { waitsForLock = true }
    for _ in 0..<200 {
      do {
        try execute("BEGIN IMMEDIATE")
        return true
      } catch let error as StorageError where error.code == .busy {
        var pause = timespec(tv_sec: 0, tv_nsec: 5_000_000)
        nanosleep(&pause, nil)
      }
    }
    return false
  }

  fileprivate func word(_ sql: String) throws -> String? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.text(0) : nil
  }
}
