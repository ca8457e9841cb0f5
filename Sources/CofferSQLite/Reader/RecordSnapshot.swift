package import CofferCore
package import Foundation

/// A snapshot that also lists the system records, for backups.
package protocol RecordSnapshot: StorageSnapshot {
  /// Returns all system records of the snapshot, by name.
  /// - Throws: `damaged` if one of them is damaged.
  func systemRecords() throws -> [SystemRecord.Name: Data]
}

extension Reader {
  /// Returns all system records, by name.
  func systemRecords() throws -> [SystemRecord.Name: Data] { try connection.systemRecords() }
}

extension Connection {
  /// Returns all system records, by name; none in a database of an earlier format.
  func systemRecords() throws -> [SystemRecord.Name: Data] {
    guard try keepsAttributes else { return [:] }
    let rows = try prepare("SELECT key, \(ValueRow.columns) FROM coffer_records")
    defer { rows.reset() }
    var records: [SystemRecord.Name: Data] = [:]
    while try rows.step() {
      let row = ValueRow(rows, 1)
      let name = String(validating: rows.bytes(0), as: UTF8.self)
      guard let key = name.flatMap({ try? KeyName($0) }), row.isWhole(key) else {
        throw StorageError.damagedRecord(named: rows.text(0), location: file.description)
      }
      records[SystemRecord.Name(key)] = Data(row.value)
    }
    return records
  }
}

extension StorageError {
  static func damagedRecord(named name: String, location: String) -> StorageError {
    StorageError(
      .damaged, "A system record is damaged: '\(name.escapingControlCharacters)'.",
      advice: "Values are not affected. Restore a backup, or set again what the record holds.", location: location)
  }
}
