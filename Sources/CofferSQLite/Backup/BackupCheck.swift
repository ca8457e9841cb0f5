import CofferCSQLite
import CofferCore
import Foundation

/// A verification of a whole database, not used by others meanwhile, as a store with nothing damaged or missing.
struct BackupCheck {
  /// The content of a verified database.
  struct Content: Sendable {
    var revision = StoreRevision.zero
    var epoch: UInt64 = 0
    var values = 0
    var valueBytes = 0
  }

  let connection: Connection
  let work: BackupWork

  /// - Throws: `damaged`, `notAStore`, `newerFormat`.
  func run() throws -> Content {
    try requireStore()
    try checkStructure()
    var content = Content()
    let live = try checkValues(&content)
    try checkJournal(live, &content)
    return content
  }

  private func requireStore() throws {
    let kind = try connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'coffer_meta'")
    guard kind == 1 else {
      throw StorageError(
        .notAStore, "The file is not a backup of a store: it is empty, or a database of another application.",
        advice: "Give a file made by 'coffer backup'. Nothing was changed.", location: location)
    }
    let meta = try StoreMeta(connection)
    guard !meta.isJournalOnly else {
      throw StorageError(
        .notAStore, "The file is the journal of a store whose values are kept elsewhere, not a backup.",
        advice: "Give a file made by 'coffer backup'. Nothing was changed.", location: location)
    }
    let format = meta.format
    guard format <= Schema.format else {
      throw StorageError(
        .newerFormat,
        "The backup was made by a newer version: format \(format), this one reads up to \(Schema.format).",
        advice: "Update the application. Nothing was changed.", location: location)
    }
  }

  private func checkStructure() throws {
    let statement = try connection.prepare("PRAGMA integrity_check(1)")
    defer { statement.reset() }
    guard try statement.step(), statement.text(0) == "ok" else {
      throw damaged("its pages are inconsistent (\(statement.text(0).prefix(200)))")
    }
  }

  private func checkValues(_ content: inout Content) throws -> LiveRows {
    let all = Int(try connection.number("PRAGMA page_count") ?? 0)
    let statement = try connection.prepare(
      "SELECT key, \(try ValueRow.columns(in: connection)) FROM coffer_values ORDER BY key")
    defer { statement.reset() }
    var live = LiveRows()
    let records = try connection.countRecords()
    if let name = records.damaged.first { throw damaged("the system record '\(name)' is damaged") }
    live = records.rows
    while try statement.step() {
      try work.checkCancellation()
      guard let name = String(validating: statement.bytes(0), as: UTF8.self), let key = try? KeyName(name) else {
        throw damaged("it has a key that is not valid UTF-8")
      }
      let row = ValueRow(statement, 1)
      guard row.isWhole(key) else {
        throw StorageError(
          .damaged, "The value does not match the checksum that was stored with it.",
          advice: "The copy was discarded. Write the key again or remove it, then try again.", location: location,
          key: key)
      }
      live.add(row.digest)
      content.values += 1
      content.valueBytes += row.value.count
      let done = min(all, content.valueBytes / max(1, connection.pageSize))
      if content.values % 1_000 == 0 { work.report(.verifying, done, of: all, connection.pageSize) }
    }
    work.report(.verifying, all, of: all, connection.pageSize)
    return live
  }

  /// Checks each journal row against its checksum, and the values against the count and digest in the newest row.
  private func checkJournal(_ live: LiveRows, _ content: inout Content) throws {
    let statement = try connection.prepare("SELECT \(JournalRow.columns) FROM coffer_journal ORDER BY revision")
    defer { statement.reset() }
    var last: LiveRows?
    while try statement.step() {
      let (row, isWhole) = JournalRow.read(statement)
      guard isWhole else { throw damaged("the journal entry of revision \(row.revision) is damaged") }
      (content.revision, last) = (row.revision, row.live)
    }
    guard (last ?? LiveRows()) == live else {
      throw damaged(
        "the number of its values, \(live.count), does not match its journal, which counts \(last?.count ?? 0)")
    }
    content.epoch = try StoreMeta(connection).epoch
  }

  private var location: String { connection.file.description }

  private func damaged(_ what: String) -> StorageError {
    StorageError(
      .damaged, "The copy is damaged: \(what).",
      advice: "Nothing was replaced. Run 'coffer verify' to find out what can still be read.", location: location)
  }
}
