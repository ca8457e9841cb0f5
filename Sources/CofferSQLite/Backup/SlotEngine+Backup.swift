import CofferCSQLite
import CofferCore
import Foundation

extension SlotEngine {
  /// Copies the values of one snapshot into a new file, a store of its own, and checks it.
  ///
  /// The file holds each value and what is said of it where the home keeps that, such as the type of a preference. It
  /// can be put back with ``restore(from:keepingReplacedAt:)``, into a home of any kind. Nothing is left at `path` when
  /// it fails.
  /// - Parameters:
  ///   - path: where the file is to be, in an existing directory.
  ///   - overwrite: whether a file at `path` is replaced.
  /// - Throws: `StorageError`: `unsupported` for a home of secrets, whose values would be in the file as they are; what
  ///   reading the home and ``SQLiteEngine/backup(to:overwrite:progress:)`` throw.
  @discardableResult
  public func backup(to path: String, overwrite: Bool = false) async throws -> BackupReport {
    guard !slots.keepsSecrets else { throw secretsStay }
    let target = try BackupPlace(path)
    if let journal { try target.checkFree(from: journal.place, overwrites: overwrite) }
    let file = try StagedFile(for: target.path, suffix: ".coffer-backup", backend: target.description)
    defer { file.discard() }
    let revision = try await copyValues(into: file.staged, name: target.description)
    return try await BackupWork.run(nil) { [description] work in
      let place = StorePlace(path: file.staged, busyTimeout: 5, name: description)
      try Backup.makeOneFile(place)
      let content = try Backup.check(place, work)
      try file.sync()
      let size = FileManager.default.sizeOfFile(file.staged)
      try file.place(overwriting: overwrite)
      return BackupReport(
        path: target.path, revision: revision, values: content.values, valueBytes: content.valueBytes, fileBytes: size)
    }
  }

  /// Makes the home hold exactly what a backup holds, in one commit, which every subscriber receives.
  ///
  /// The backup is checked as a whole before anything is changed. All of its values are in memory at once.
  /// - Parameters:
  ///   - backup: a file that ``backup(to:overwrite:)`` or ``SQLiteEngine/backup(to:overwrite:progress:)`` has made. It
  ///     is not changed.
  ///   - kept: where a backup of what is replaced is made before; `nil` for none.
  /// - Throws: `StorageError`: `damaged`, `notAStore`, `newerFormat` or `notFound` for the backup, and what a commit
  ///   throws. The home is as it was then.
  @discardableResult
  public func restore(from backup: String, keepingReplacedAt kept: String? = nil) async throws -> RestoreReport {
    guard !slots.keepsSecrets else { throw secretsStay }
    let content = try await BackupWork.run(nil) { try BackupContent.read(backup, $0) }
    if let kept { try await self.backup(to: kept) }
    var batch = WriteBatch()
    batch.clear()
    for entry in content { batch.put(entry.key, entry.value, entry.attributes) }
    let commit = try await commit(batch, from: Origin())
    return RestoreReport(
      path: description, revision: commit.revision, values: content.count,
      valueBytes: content.reduce(0) { $0 + $1.value.count }, replaced: kept)
  }

  private var secretsStay: StorageError {
    StorageError.unsupported(
      "backups of secrets, which would be in the file as they are",
      advice: "Copy them into a sealed file: coffer cp FROM sealed:PATH. Nothing was written.", backend: description)
  }

  /// - Returns: The revision of the home's state.
  private func copyValues(into path: String, name: String) async throws -> Revision {
    var configuration = SQLiteConfiguration()
    configuration.name = name
    let copy = try await SQLiteEngine.open(at: path, configuration: configuration)
    do {
      let (origin, transaction) = (Origin(), TransactionID())
      let revision = try await withSnapshot { snapshot in
        var last: Key?
        while true {
          try Task.checkCancellation()
          let page = try await snapshot.page(prefix: nil, after: last, limit: 1_000)
          guard let end = page.last else { return snapshot.revision }
          let operations = page.map { WriteBatch.Operation.put($0.key, $0.value, $0.attributes) }
          try await copy.commit(
            WriteBatch(operations, transaction: transaction, durability: .relaxed), from: origin)
          last = end.key
        }
      }
      try await copy.close()
      return revision
    } catch {
      try? await copy.close()
      throw error
    }
  }
}

/// The values of a backup.
enum BackupContent {
  /// Reads and checks all of a backup.
  static func read(_ path: String, _ work: BackupWork) throws -> [Entry] {
    let place = try StorePlace.ofBackup(path)
    let connection = try Connection(place)
    try connection.execute("PRAGMA query_only = ON; BEGIN")
    defer { connection.rollBack() }
    _ = try BackupCheck(connection: connection, work: work).run()
    let rows = try connection.prepare(
      "SELECT key, \(try ValueRow.columns(in: connection)) FROM coffer_values ORDER BY key")
    defer { rows.reset() }
    let kinds = try earlierKinds(connection)
    var entries: [Entry] = []
    while try rows.step() {
      let row = ValueRow(rows, 1)
      guard let name = String(validating: rows.bytes(0), as: UTF8.self), let key = try? Key(name),
        let attributes = ValueAttributes(encoded: row.attributes)
      else {
        throw StorageError(
          .damaged, "The backup has a key that is no UTF-8, or attributes that are none.", backend: place.description)
      }
      let all = attributes.merging(kinds[key] ?? .none)
      entries.append(Entry(key: key, value: Data(row.value), revision: row.revision, attributes: all))
    }
    return entries
  }

  /// The types of preferences, which backups of the second format have in a table of their own.
  private static func earlierKinds(_ connection: Connection) throws -> [Key: ValueAttributes] {
    guard try connection.number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_tags'") != nil else { return [:] }
    let rows = try connection.prepare("SELECT key, tag FROM coffer_tags")
    defer { rows.reset() }
    var kinds: [Key: ValueAttributes] = [:]
    while try rows.step() {
      guard let key = try? Key(rows.text(0)), let kind = UInt8(exactly: rows.integer(1)) else { continue }
      kinds[key, default: .none][ValueAttribute<UInt8>(code: 1)] = kind
    }
    return kinds
  }
}
