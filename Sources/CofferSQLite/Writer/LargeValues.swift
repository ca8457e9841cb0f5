import CofferCSQLite
import CofferCore
import Foundation

/// A large value, by its number and whose it is.
struct LargeValue {
  let id: Int64
  let key: [UInt8]
}

/// Writes the rows of large values, which the rows of their keys name by number.
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

  /// Writes a value over the one that the key has, if that is large, too: its pages are used again.
  /// - Returns: its number.
  func put(_ value: Data, for key: StoreKey) throws -> Int64 {
    try key.withBytes { name in
      if let id = try number(of: name) {
        try write(value, for: name, with: update, id: id)
        if sqlite3_changes(connection.handle) == 1 { return id }  // else it is not where the row says
      }
      try write(value, for: name, with: insert, id: nil)
      return sqlite3_last_insert_rowid(connection.handle)
    }
  }

  func remove(_ value: LargeValue) throws {
    try value.key.withUnsafeBytes { name in
      delete.bind(1, value.id)
      delete.bind(2, borrowing: name)
      defer { delete.resetAndForget() }
      _ = try delete.step()
    }
  }

  func removeAll() throws { try deleteAll.run() }

  private func number(of name: UnsafeRawBufferPointer) throws -> Int64? {
    find.bind(1, borrowing: name)
    defer { find.resetAndForget() }
    return try find.step() && !find.isNull(0) ? find.integer(0) : nil
  }

  private func write(
    _ value: Data, for name: UnsafeRawBufferPointer, with statement: Statement, id: Int64?
  ) throws {
    try value.withUnsafeBytes { content in
      statement.bind(1, borrowing: name)
      statement.bind(2, borrowing: content)
      if let id { statement.bind(3, id) }
      defer { statement.resetAndForget() }
      _ = try statement.step()
    }
  }
}
