import CofferCSQLite
import CofferCore
import Foundation

extension SQLiteEngine {
  /// Verifies the whole store: each page, each row, each commit in the journal, and that no row is missing.
  ///
  /// Runs concurrently with the writer, outside Swift's cooperative thread pool.
  /// - Complexity: Linear in the size of the store; the whole file is read.
  /// - Throws: `StorageError` if the file cannot be read at all; `CancellationError` if the task is cancelled.
  public func verify() async throws -> IntegrityReport {
    let store = try openCore()
    let (file, loss) = (try store.view().file, store.presentLoss)
    let isCancelled = Locked(false)
    return try await withTaskCancellationHandler {
      try await verificationQueue.run {
        var verification = Verification(file, loss) { isCancelled.withLock { $0 } }
        return try verification.run()
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }
}

private let verificationQueue = DispatchQueue(label: "coffer.verify", qos: .utility, attributes: .concurrent)

/// A single verification of a whole store.
private struct Verification {
  private let file: StoreFile
  private let isCancelled: () -> Bool
  private var report = IntegrityReport()

  init(_ file: StoreFile, _ loss: LossReport?, isCancelled: @escaping () -> Bool) {
    self.file = file
    self.isCancelled = isCancelled
    report.loss = loss
  }

  mutating func run() throws -> IntegrityReport {
    try checkPages()
    try checkRows()
    try checkStructure()
    return report
  }

  private func checkCancellation() throws {
    if isCancelled() { throw CancellationError() }
  }

  // MARK: Pages

  private mutating func checkPages() throws {
    let connection = try Connection(file)
    // Also maps the index of the log, where the lock is.
    do { _ = try connection.number("SELECT count(*) FROM sqlite_schema") } catch let error as StorageError {
      guard error.isDamagedPage else { throw error }
    }
    report.hasPageChecksums = connection.isSealed
    connection.copyLogIfFree()
    guard connection.isSealed, let file = coffer_sqlite_main_file(connection.handle) else { return }
    let size = Int(file.page.pointee.pageSize)
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
    defer { buffer.deallocate() }
    var number: Int64 = 1
    while file.readRaw(buffer, Int32(size), (number - 1) * Int64(size)) {
      if number % 256 == 0 { try checkCancellation() }
      if !isWhole(buffer, size), !connection.isWholeAtRest(file, number, buffer, size) {
        report.damagedPages.append(number)
      }
      number += 1
    }
  }

  // MARK: Rows

  /// Checks the rows, reading past damaged pages so that the report covers everything that is readable.
  private mutating func checkRows() throws {
    var salvaging = file
    salvaging.ignoresPageFaults = true
    let reader = try Reader(salvaging) { _ in }
    _ = try reader.beginSnapshot()
    defer { reader.endSnapshot() }
    do {
      let found = try checkValues(reader.connection)
      report.values = found.count
      try checkJournal(reader.connection, found)
    } catch let error as StorageError where error.code == .damaged {
      (report.rowsAreComplete, report.missing) = (false, nil)
    }
  }

  private mutating func checkValues(_ connection: Connection) throws -> LiveRows {
    let rows = try connection.prepare(
      "SELECT key, \(try ValueRow.columns(in: connection)) FROM coffer_values ORDER BY key")
    defer { rows.reset() }
    var found = LiveRows()
    while try rows.step() {
      if found.count % 256 == 0 { try checkCancellation() }
      found.add(ValueRow(rows, 1).digest)
      guard let name = String(validating: rows.bytes(0), as: UTF8.self), let key = try? KeyName(name) else {
        report.unnamed += 1
        continue
      }
      if !ValueRow(rows, 1).isWhole(key) { report.damaged.append(key) }
    }
    return found
  }

  private mutating func checkJournal(_ connection: Connection, _ found: LiveRows) throws {
    let rows = try connection.prepare("SELECT \(JournalRow.columns) FROM coffer_journal ORDER BY revision")
    defer { rows.reset() }
    var live = LiveRows()
    while try rows.step() {
      let (row, isWhole) = JournalRow.read(rows)
      if !isWhole || StoreSelection(decoding: row.changed) == nil { report.damagedCommits.append(row.revision) }
      live = row.live
    }
    let records = try connection.countRecords()
    for name in records.damaged { report.structure.append("The system record '\(name)' is damaged.") }
    let lost = try connection.keepsAttributes ? connection.number(Self.orphanedValues) ?? 0 : 0
    if lost > 0 { report.structure.append("\(lost) of the large values belong to no key.") }
    let all = found.adding(records.rows)
    report.rowsAreComplete = live == all
    report.missing = live.count - all.count
  }

  private static let orphanedValues = """
    SELECT count(*) FROM coffer_large AS l
    WHERE NOT EXISTS (SELECT 1 FROM coffer_values AS v WHERE v.key = l.key AND v.large = l.id)
    """

  // MARK: Structure

  private mutating func checkStructure() throws {
    let connection = try Connection(file)
    do {
      let check = try connection.prepare("PRAGMA quick_check(100)")
      defer { check.reset() }
      while try check.step() {
        try checkCancellation()
        // A row is a single message or several lines, the first of which is a heading.
        report.structure += check.text(0).split(separator: "\n").filter { $0 != "ok" && !$0.hasPrefix("***") }
          .map(String.init)
      }
    } catch let error as StorageError where error.code == .damaged {
      // SQLite cannot continue the check; its earlier messages name the location.
      if report.structure.isEmpty, report.damagedPages.isEmpty {
        report.structure.append(error.underlying?.text ?? error.message)
      }
    }
  }
}

/// Whether a page matches its checksum. An all-zero page is accepted, since it may have been freed before it was ever
/// written; one that is in use is found by the structure check.
private func isWhole(_ page: UnsafeMutableRawPointer, _ size: Int) -> Bool {
  let word = page.loadUnaligned(fromByteOffset: size - Int(PageFile.reserve), as: UInt64.self).littleEndian
  return word == pageChecksum(page, Int32(size)) || (word == 0 && isZero(page, Int32(size)))
}

extension Connection {
  /// Whether a page matches its checksum while no checkpoint runs: the first read may have seen a partial write.
  fileprivate func isWholeAtRest(
    _ file: FilePointer, _ number: Int64, _ buffer: UnsafeMutableRawPointer, _ size: Int
  ) -> Bool {
    guard self.file.reading?.takesLocks ?? true else { return false }
    var isLocked = false
    for _ in 0..<200 where !isLocked {
      isLocked = coffer_sqlite_checkpoint_lock(handle, 1) == SQLITE_OK
      if !isLocked { pause() }
    }
    defer { if isLocked { _ = coffer_sqlite_checkpoint_lock(handle, 0) } }
    return file.readRaw(buffer, Int32(size), (number - 1) * Int64(size)) && isWhole(buffer, size)
  }

  /// Copies the log into the database if no lock prevents it, since pages superseded in the log are not verified.
  fileprivate func copyLogIfFree() {
    guard file.reading == nil, let lock = try? file.checkpointLock(.exclusive) else { return }
    withExtendedLifetime(lock) { _ = checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
  }

  private func pause() {
    var pause = timespec(tv_sec: 0, tv_nsec: 5_000_000)
    nanosleep(&pause, nil)
  }
}
