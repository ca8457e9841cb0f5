package import CofferCore
package import Foundation

/// A backup of values that another engine keeps: a new store that is filled with them one by one.
package enum ValueBackup {
  /// Makes a backup and verifies it. A failed backup leaves `path` unchanged.
  /// - Parameters:
  ///   - path: the path of the backup, in an existing directory.
  ///   - overwrite: whether an existing file at `path` is replaced.
  ///   - source: the location of the store in messages.
  ///   - journal: a store that the backup must not replace.
  ///   - fill: stores the values in a new store, and returns the revision of their state.
  package static func make(
    at path: String, overwrite: Bool, of source: String, journal: SQLiteEngine?,
    fill: (SQLiteEngine) async throws -> StoreRevision
  ) async throws -> BackupReport {
    let target = try BackupTarget(path)
    if let journal { try target.checkFree(from: journal.file, overwrites: overwrite) }
    let staged = try StagedFile(for: target.path, suffix: ".coffer-backup", location: target.description)
    defer { staged.discard() }
    var configuration = SQLiteEngine.Configuration()
    configuration.name = target.description
    configuration.sweepsExpiredValues = false
    let copy = try await SQLiteEngine.open(at: staged.temporaryPath, configuration: configuration)
    let revision: StoreRevision
    do {
      revision = try await fill(copy)
      try await copy.close()
    } catch {
      try? await copy.close()
      throw error
    }
    // Not before the copy is closed: an open store whose name in the file changes takes itself for replaced.
    let identity = try journal?.read { try $0.identity() } ?? nil
    return try await BackupWork.run(nil) { work in
      let file = StoreFile(path: staged.temporaryPath, busyTimeout: 5, name: source)
      try Backup.makeOneFile(file, named: identity)
      let content = try Backup.check(file, work)
      try staged.sync()
      let size = FileManager.default.sizeOfFile(staged.temporaryPath)
      try staged.publish(overwriting: overwrite)
      return BackupReport(
        path: target.path, revision: revision, values: content.values, valueBytes: content.valueBytes, fileBytes: size)
    }
  }

  /// The content of a backup.
  package struct Content: Sendable {
    package var values: [StoreEntry] = []
    /// The system records.
    package var records: [SystemRecord.Name: Data] = [:]
  }

  /// Reads and verifies a whole backup, loading all of its values into memory.
  package static func content(of path: String) async throws -> Content {
    try await BackupWork.run(nil) { try read(path, $0) }
  }

  private static func read(_ path: String, _ work: BackupWork) throws -> Content {
    let file = try StoreFile.ofBackup(path)
    let connection = try Connection(file)
    try connection.execute("PRAGMA query_only = ON; BEGIN")
    defer { connection.rollBack() }
    _ = try BackupCheck(connection: connection, work: work).run()
    let rows = try connection.prepare(
      "SELECT key, \(try ValueRow.columns(in: connection)) FROM coffer_values ORDER BY key")
    defer { rows.reset() }
    let kinds = try earlierKinds(connection)
    var content = Content(records: try connection.systemRecords())
    while try rows.step() {
      let row = ValueRow(rows, 1)
      guard let name = String(validating: rows.bytes(0), as: UTF8.self), let key = try? KeyName(name),
        let attributes = ValueAttributes(encoded: row.attributes)
      else {
        throw StorageError(
          .damaged, "The backup has a key that is invalid UTF-8, or malformed attributes.", location: file.description)
      }
      let all = attributes.merging(kinds[key] ?? .none)
      content.values.append(StoreEntry(key: key, value: Data(row.value), revision: row.revision, attributes: all))
    }
    return content
  }

  /// Returns the types of preferences, which backups of the second format keep in a separate table.
  private static func earlierKinds(_ connection: Connection) throws -> [KeyName: ValueAttributes] {
    guard try connection.number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_tags'") != nil else { return [:] }
    let rows = try connection.prepare("SELECT key, tag FROM coffer_tags")
    defer { rows.reset() }
    var kinds: [KeyName: ValueAttributes] = [:]
    while try rows.step() {
      guard let key = try? KeyName(rows.text(0)), let kind = UInt8(exactly: rows.integer(1)) else { continue }
      kinds[key, default: .none][.preferenceKind] = kind
    }
    return kinds
  }
}

extension Reader {
  /// The random name that a store receives when it is created, and that its backups share.
  func identity() throws -> String? {
    try statements.query("SELECT value FROM coffer_meta WHERE name = 'store'", []) { $0.text(0) }.first
  }
}
