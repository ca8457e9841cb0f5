import CofferCore

/// One row of `coffer_values`, as a statement over ``columns`` has it; its bytes are valid until the next step.
struct ValueRow {
  let revision: Revision
  let checksum: Int64
  let attributes: UnsafeRawBufferPointer
  let value: UnsafeRawBufferPointer

  static let columns = "revision, checksum, attributes, value"

  /// The same of a database that may be of an earlier format, in which values had no attributes.
  static func columns(in connection: Connection) throws -> String {
    try connection.keepsAttributes ? columns : "revision, checksum, NULL, value"
  }

  /// - Parameter first: the column of the revision.
  init(_ statement: Statement, _ first: Int32) {
    revision = Revision(UInt64(bitPattern: statement.integer(first)))
    checksum = statement.integer(first + 1)
    attributes = statement.bytes(first + 2)
    value = statement.bytes(first + 3)
  }

  /// Whether the row is as it was written, under this key.
  func isWhole(_ key: Key) -> Bool {
    Int64(bound(including(attributes, in: CofferSQLite.checksum(key, value)), to: revision)) == checksum
  }

  /// What the row adds to the digest of all rows.
  var digest: UInt64 { LiveRows.digest(revision: Int64(bitPattern: revision.rawValue), checksum: checksum) }
}
