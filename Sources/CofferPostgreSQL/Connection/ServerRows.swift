import CofferCPostgreSQL
import Foundation

/// The rows of one result, in binary form.
// Sendable: libpq's accessors of a complete result only read it, and this object, its only owner, frees it.
final class ServerRows: @unchecked Sendable {
  private let result: OpaquePointer
  /// The number of rows.
  let count: Int
  /// The number of columns.
  let columns: Int

  /// Takes over a result.
  init(_ result: OpaquePointer) {
    self.result = result
    count = Int(pq_ntuples(result))
    columns = Int(pq_nfields(result))
  }

  deinit { pq_clear(result) }

  /// The command tag, such as `COMMIT`, `ROLLBACK` or `INSERT 0 1`.
  var tag: String { pq_cmdStatus(result).map { String(cString: $0) } ?? "" }

  /// The number of rows that the statement has read or changed.
  var affected: Int { pq_cmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

  /// Whether a field is NULL, or does not exist.
  func isNull(_ row: Int, _ column: Int) -> Bool {
    !contains(row, column) || pq_getisnull(result, Int32(row), Int32(column)) != 0
  }

  /// Calls `body` with the bytes of a field, which are valid only during the call; none for NULL.
  func withBytes<R>(_ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    guard contains(row, column), let start = pq_getvalue(result, Int32(row), Int32(column)) else {
      return try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return try body(UnsafeRawBufferPointer(start: start, count: Int(pq_getlength(result, Int32(row), Int32(column)))))
  }

  /// A copy of the bytes of a field.
  func data(_ row: Int, _ column: Int) -> Data { withBytes(row, column) { Data($0) } }

  /// A `bigint`; 0 for NULL and for a field of another size.
  func int8(_ row: Int, _ column: Int) -> Int64 {
    withBytes(row, column) { $0.count == 8 ? Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) : 0 }
  }

  func bool(_ row: Int, _ column: Int) -> Bool { withBytes(row, column) { $0.first == 1 } }

  /// A text; the empty one for NULL.
  func text(_ row: Int, _ column: Int) -> String { withBytes(row, column) { String(decoding: $0, as: UTF8.self) } }

  /// A `uuid`; `nil` for NULL and for a field of another size.
  func uuid(_ row: Int, _ column: Int) -> UUID? {
    withBytes(row, column) { $0.count == 16 ? UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) : nil }
  }

  private func contains(_ row: Int, _ column: Int) -> Bool { 0..<count ~= row && 0..<columns ~= column }
}
