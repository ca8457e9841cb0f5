package import CofferCore
package import Foundation

/// A backup of values that are kept elsewhere: a store that is filled with them one by one.
package enum ValueBackup {
  /// Makes a backup and checks it. Nothing is left at `path` when it fails.
  /// - Parameters:
  ///   - path: where the file is to be, in an existing directory.
  ///   - overwrite: whether a file at `path` is replaced.
  ///   - source: how messages call what the backup is of.
  ///   - journal: a store that the backup must not replace.
  ///   - fill: puts the values into a new store, and gives the revision of the state that they are.
  package static func make(
    at path: String, overwrite: Bool, of source: String, journal: SQLiteEngine?,
    fill: (SQLiteEngine) async throws -> StoreRevision
  ) async throws -> BackupReport {
    let target = try BackupPlace(path)
    if let journal { try target.checkFree(from: journal.place, overwrites: overwrite) }
    let file = try StagedFile(for: target.path, suffix: ".coffer-backup", backend: target.description)
    defer { file.discard() }
    var configuration = SQLiteConfiguration()
    configuration.name = target.description
    let copy = try await SQLiteEngine.open(at: file.staged, configuration: configuration)
    let revision: StoreRevision
    do {
      revision = try await fill(copy)
      try await copy.close()
    } catch {
      try? await copy.close()
      throw error
    }
    return try await BackupWork.run(nil) { work in
      let place = StorePlace(path: file.staged, busyTimeout: 5, name: source)
      try Backup.makeOneFile(place)
      let content = try Backup.check(place, work)
      try file.sync()
      let size = FileManager.default.sizeOfFile(file.staged)
      try file.place(overwriting: overwrite)
      return BackupReport(
        path: target.path, revision: revision, values: content.values, valueBytes: content.valueBytes, fileBytes: size)
    }
  }

  /// What a backup holds.
  package struct Content: Sendable {
    package var values: [StoreEntry] = []
    /// The records of the library's own.
    package var records: [SystemRecordName: Data] = [:]
  }

  /// Reads and checks all of a backup, with all of its values in memory.
  package static func content(of path: String) async throws -> Content {
    try await BackupWork.run(nil) { try read(path, $0) }
  }

  private static func read(_ path: String, _ work: BackupWork) throws -> Content {
    let place = try StorePlace.ofBackup(path)
    let connection = try Connection(place)
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
      guard let name = String(validating: rows.bytes(0), as: UTF8.self), let key = try? StoreKey(name),
        let attributes = ValueAttributes(encoded: row.attributes)
      else {
        throw StorageError(
          .damaged, "The backup has a key that is no UTF-8, or attributes that are none.", backend: place.description)
      }
      let all = attributes.merging(kinds[key] ?? .none)
      content.values.append(StoreEntry(key: key, value: Data(row.value), revision: row.revision, attributes: all))
    }
    return content
  }

  /// The types of preferences, which backups of the second format have in a table of their own.
  private static func earlierKinds(_ connection: Connection) throws -> [StoreKey: ValueAttributes] {
    guard try connection.number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_tags'") != nil else { return [:] }
    let rows = try connection.prepare("SELECT key, tag FROM coffer_tags")
    defer { rows.reset() }
    var kinds: [StoreKey: ValueAttributes] = [:]
    while try rows.step() {
      guard let key = try? StoreKey(rows.text(0)), let kind = UInt8(exactly: rows.integer(1)) else { continue }
      kinds[key, default: .none][ValueAttribute<UInt8>(code: 1)] = kind
    }
    return kinds
  }
}
