package import CofferCore
package import Foundation

/// A snapshot that lists the records of the library's own, for backups.
package protocol RecordSnapshot: StorageSnapshot {
  /// All records of the state, by name.
  /// - Throws: `damaged` when one of them is.
  func systemRecords() throws -> [SystemRecordName: Data]
}

extension Reader {
  /// All records of the library's own.
  func systemRecords() throws -> [SystemRecordName: Data] { try connection.systemRecords() }
}

extension Connection {
  /// All records of the library's own; none in a database of an earlier format.
  func systemRecords() throws -> [SystemRecordName: Data] {
    guard try keepsAttributes else { return [:] }
    let rows = try prepare("SELECT key, \(ValueRow.columns) FROM coffer_records")
    defer { rows.reset() }
    var records: [SystemRecordName: Data] = [:]
    while try rows.step() {
      let row = ValueRow(rows, 1)
      let name = String(validating: rows.bytes(0), as: UTF8.self)
      guard let key = name.flatMap({ try? StoreKey($0) }), row.isWhole(key) else {
        throw StorageError.damagedRecord(named: rows.text(0), backend: place.description)
      }
      records[SystemRecordName(key)] = Data(row.value)
    }
    return records
  }
}

extension StorageError {
  static func damagedRecord(named name: String, backend: String) -> StorageError {
    StorageError(
      .damaged, "A record of the library's own is damaged: '\(name.escapingControlCharacters)'.",
      advice: "Values are not affected. Restore a backup, or set again what the record keeps.", backend: backend)
  }
}
