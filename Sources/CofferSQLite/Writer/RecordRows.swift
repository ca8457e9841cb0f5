import CofferCore
import Foundation

/// Writes the rows of system records; ``RowWriter`` writes those of values.
final class RecordRows {
  private let write, remove, find: Statement

  /// Prepares the statements, on a connection that already has a ``LiveRowCounter``.
  init(_ connection: Connection) throws {
    write = try connection.prepare(
      """
      INSERT INTO coffer_records (key, revision, checksum, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key)
      DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum, value = excluded.value
      WHERE \(LiveRowCounter.removing)
      """)
    remove = try connection.prepare("DELETE FROM coffer_records WHERE key = ?1 AND \(LiveRowCounter.removing)")
    find = try connection.prepare("SELECT revision FROM coffer_records WHERE key = ?1")
  }

  func put(_ name: SystemRecord.Name, _ content: Data, checksum: Int64, at revision: StoreRevision) throws {
    try name.key.withBytes { key in
      try content.withUnsafeBytes { bytes in
        write.bind(1, borrowing: key)
        write.bind(2, Int64(bitPattern: revision.rawValue))
        write.bind(3, checksum)
        write.bind(4, borrowing: bytes)
        defer { write.resetAndClearBindings() }
        _ = try write.step()
      }
    }
  }

  func delete(_ name: SystemRecord.Name) throws {
    try name.key.withBytes { key in
      remove.bind(1, borrowing: key)
      defer { remove.resetAndClearBindings() }
      _ = try remove.step()
    }
  }

  func revision(of name: SystemRecord.Name) throws -> StoreRevision? {
    try name.key.withBytes { key in
      find.bind(1, borrowing: key)
      defer { find.resetAndClearBindings() }
      return try find.step() ? StoreRevision(UInt64(bitPattern: find.integer(0))) : nil
    }
  }
}

extension Reader {
  /// Returns a system record, or `nil` if it is absent.
  /// - Throws: `damaged` if its checksum does not match.
  func record(_ name: SystemRecord.Name) throws -> SystemRecord? {
    guard try connection.keepsAttributes else { return nil }
    let statement = try connection.prepare("SELECT \(ValueRow.columns) FROM coffer_records WHERE key = ?1")
    return try name.key.withBytes { key in
      statement.bind(1, borrowing: key)
      defer { statement.resetAndClearBindings() }
      guard try statement.step() else { return nil }
      let row = ValueRow(statement, 0)
      guard row.isWhole(name.key) else {
        throw StorageError.damagedRecord(named: name.description, location: connection.file.description)
      }
      return SystemRecord(content: Data(row.value), revision: row.revision)
    }
  }
}
