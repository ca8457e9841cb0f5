import CofferCore

/// One row of `coffer_values`, as a statement over ``columns`` has it; its bytes are valid until the next step.
package struct ValueRow {
  let revision: StoreRevision
  let checksum: Int64
  let attributes: UnsafeRawBufferPointer
  let value: UnsafeRawBufferPointer

  static let columns = "revision, checksum, attributes, \(value)"

  /// The value, wherever it is; NULL where a large one is missing.
  package static let value = """
    CASE WHEN large IS NULL THEN value ELSE (SELECT l.value FROM coffer_large l WHERE l.id = large) END
    """

  /// The size of the value, of which nothing is read.
  static let size = """
    CASE WHEN large IS NULL THEN length(value) ELSE (SELECT length(l.value) FROM coffer_large l WHERE l.id = large) END
    """

  /// Whether a value that has a row of its own is found there: 1 or NULL.
  static let isInPlace = """
    CASE WHEN large IS NULL THEN 1
    ELSE (SELECT 1 FROM coffer_large l WHERE l.id = large AND l.key = coffer_values.key) END
    """

  /// Values of more bytes than this have a row of their own. Up to it a row lies on one page.
  static let largestInPlace = 800

  /// The same of a database that may be of an earlier format, in which values had no attributes and were all in place.
  static func columns(in connection: Connection) throws -> String {
    try connection.keepsAttributes ? columns : "revision, checksum, NULL, value"
  }

  /// - Parameter first: the column of the revision.
  init(_ statement: Statement, _ first: Int32) {
    revision = StoreRevision(UInt64(bitPattern: statement.integer(first)))
    checksum = statement.integer(first + 1)
    attributes = statement.bytes(first + 2)
    value = statement.bytes(first + 3)
  }

  /// Whether the row is as it was written, under this key.
  func isWhole(_ key: StoreKey) -> Bool {
    Int64(bound(including(attributes, in: CofferSQLite.checksum(key, value)), to: revision)) == checksum
  }

  /// What the row adds to the digest of all rows.
  var digest: UInt64 { LiveRows.digest(revision: Int64(bitPattern: revision.rawValue), checksum: checksum) }
}
