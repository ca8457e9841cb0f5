import CofferCore
import Foundation

/// The checksums of rows: what SQLite stores keep, with the store, and bound to the revision by an operation that SQL
/// has too, since the server assigns the revision.
enum RowChecksum {
  /// Returns the CRC-32 of what a client knows of a row: key, value, attributes, store, and whether it is a record.
  static func content(store: Int64, isRecord: Bool, _ key: KeyName, _ value: Data, _ attributes: [UInt8]) -> Int64 {
    let named = attributes.withUnsafeBytes { including($0, in: checksum(key, value)) }
    return Int64(crc(crc(named, store.littleEndian), UInt8(isRecord ? 1 : 0)))
  }

  /// Returns the CRC-32 of what a client knows of a journal row.
  static func journal(
    store: Int64, transaction: Data, origin: Data, committedAt: Int64, changed: Data
  ) -> Int64 {
    var sum = crc(0, store.littleEndian)
    for bytes in [transaction, origin, changed] {
      sum = bytes.withUnsafeBytes { crc(crc(sum, UInt32($0.count).littleEndian), $0) }
    }
    return Int64(crc(sum, committedAt.littleEndian))
  }

  /// Returns a checksum bound to a number: each changed bit of the number changes it.
  static func bound(_ checksum: Int64, to number: Int64) -> Int64 {
    checksum ^ ((number ^ (number >> 32)) & 0xFFFF_FFFF)
  }

  /// The same operation in SQL.
  static func bound(_ checksum: String, to number: String) -> String {
    "(\(checksum) # ((\(number) # (\(number) >> 32)) & 4294967295))"
  }
}
