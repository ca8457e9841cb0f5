import CofferCSQLite
import CofferCore
import Foundation

/// A compiled statement. Reset it after every use, so that it holds no lock.
final class Statement {
  private let pointer: OpaquePointer
  private let connection: Connection

  init(_ sql: String, on connection: Connection) throws {
    var pointer: OpaquePointer?
    var hasMore = false
    let code = sql.withCString { text in
      var rest: UnsafePointer<CChar>?
      let code = sqlite3_prepare_v3(
        connection.handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, &rest)
      hasMore = rest.map { strspn($0, " \t\r\n;") != strlen($0) } ?? false
      return code
    }
    guard code == SQLITE_OK, let pointer else { throw connection.error(code) }
    guard !hasMore else {
      sqlite3_finalize(pointer)
      throw StorageError(
        .unsupported, "The SQL contains more than one statement.",
        advice: "Run them one by one, or without arguments.", location: connection.file.description)
    }
    self.pointer = pointer
    self.connection = connection
  }

  deinit { sqlite3_finalize(pointer) }

  func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(pointer, index, value) }

  func bindNull(_ index: Int32) { sqlite3_bind_null(pointer, index) }

  /// Binds bytes without copying them. They must stay valid until the statement is reset or rebound.
  func bind(_ index: Int32, borrowing bytes: UnsafeRawBufferPointer) {
    if let start = bytes.baseAddress, bytes.count > 0 {
      sqlite3_bind_blob64(pointer, index, start, UInt64(bytes.count), nil)
    } else {
      sqlite3_bind_zeroblob(pointer, index, 0)
    }
  }

  /// Binds bytes by copying them.
  func bind(_ index: Int32, copying bytes: UnsafeRawBufferPointer) {
    if let start = bytes.baseAddress, bytes.count > 0 {
      sqlite3_bind_blob64(pointer, index, start, UInt64(bytes.count), copyBoundBytes)
    } else {
      sqlite3_bind_zeroblob(pointer, index, 0)
    }
  }

  func bind(_ index: Int32, text: String) {
    var text = text
    text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        let start = characters.baseAddress.map { UnsafePointer($0) }
        _ = sqlite3_bind_text64(
          pointer, index, start ?? emptyText, UInt64(bytes.count), copyBoundBytes, UInt8(SQLITE_UTF8))
      }
    }
  }

  func bind(_ index: Int32, _ value: Double) { sqlite3_bind_double(pointer, index, value) }

  /// Advances to the next row.
  /// - Returns: Whether there is a row.
  /// - Throws: The error of the statement, which is reset before.
  func step() throws -> Bool {
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code:
      let error = connection.error(code)
      sqlite3_reset(pointer)
      throw error
    }
  }

  /// Runs a statement that yields no row, and resets it.
  func run() throws {
    _ = try step()
    reset()
  }

  /// Ends the use of the current row and releases the statement's locks.
  func reset() { sqlite3_reset(pointer) }

  /// Resets the statement and clears its bindings, so that no borrowed bytes stay bound.
  func resetAndClearBindings() {
    sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
  }

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

  func double(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }
  func isBlob(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_BLOB }

  var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

  /// Returns the bytes of a column, valid until the next step or reset.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }

  func data(_ column: Int32) -> Data {
    let bytes = bytes(column)
    return bytes.isEmpty ? Data() : Data(bytes)
  }

  func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
}

/// SQLITE_TRANSIENT, which makes SQLite copy the bound bytes. Swift does not import the macro, since it is a cast.
private let copyBoundBytes = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)

/// The address of an empty string, which SQLite requires even for no bytes. Allocated once per process and never
/// written afterwards, so any number of threads may read it.
private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
  let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  text.initialize(to: 0)
  return UnsafePointer(text)
}()
