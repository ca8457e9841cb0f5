import CofferCSQLite
import CofferCore
import Foundation

/// The row identifier and key of a large value.
struct LargeValue {
  let id: Int64
  let key: [UInt8]
}

/// Writes the rows of `coffer_large`, which the rows of their keys refer to by identifier.
final class LargeValues {
  private let connection: Connection
  private let find, insert, update, delete, deleteAll: Statement

  init(_ connection: Connection) throws {
    self.connection = connection
    find = try connection.prepare("SELECT large FROM coffer_values WHERE key = ?1")
    insert = try connection.prepare("INSERT INTO coffer_large (key, value) VALUES (?1, ?2)")
    update = try connection.prepare("UPDATE coffer_large SET value = ?2 WHERE id = ?3 AND key = ?1")
    delete = try connection.prepare("DELETE FROM coffer_large WHERE id = ?1 AND key = ?2")
    deleteAll = try connection.prepare("DELETE FROM coffer_large")
  }

  /// Stores a large value, reusing the row and pages of the key's present large value if there is one.
  /// - Returns: The row identifier.
  func put(_ value: Data, for key: KeyName) throws -> Int64 {
    try key.withBytes { name in
      if let id = try number(of: name) {
        try write(value, for: name, with: update, id: id)
        if sqlite3_changes(connection.handle) == 1 { return id }  // otherwise the row it refers to is missing
      }
      try write(value, for: name, with: insert, id: nil)
      return sqlite3_last_insert_rowid(connection.handle)
    }
  }

  func remove(_ value: LargeValue) throws {
    try value.key.withUnsafeBytes { name in
      delete.bind(1, value.id)
      delete.bind(2, borrowing: name)
      defer { delete.resetAndClearBindings() }
      _ = try delete.step()
    }
  }

  func removeAll() throws { try deleteAll.run() }

  private func number(of name: UnsafeRawBufferPointer) throws -> Int64? {
    find.bind(1, borrowing: name)
    defer { find.resetAndClearBindings() }
    return try find.step() && !find.isNull(0) ? find.integer(0) : nil
  }

  private func write(
    _ value: Data, for name: UnsafeRawBufferPointer, with statement: Statement, id: Int64?
  ) throws {
    try value.withUnsafeBytes { content in
      statement.bind(1, borrowing: name)
      statement.bind(2, borrowing: content)
      if let id { statement.bind(3, id) }
      defer { statement.resetAndClearBindings() }
      _ = try statement.step()
    }
  }
}
