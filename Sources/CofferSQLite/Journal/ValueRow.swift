import CofferCore

/// A row of `coffer_values`, read by a statement over ``columns``; its bytes are valid until the next step.
package struct ValueRow {
  let revision: StoreRevision
  let checksum: Int64
  let attributes: UnsafeRawBufferPointer
  let value: UnsafeRawBufferPointer

  static let columns = "revision, checksum, attributes, \(value)"

  /// The expression of the value, from `coffer_values` or `coffer_large`; NULL if a large value is missing.
  package static let value = """
    CASE WHEN large IS NULL THEN value ELSE (SELECT l.value FROM coffer_large l WHERE l.id = large) END
    """

  /// The expression of the value's size in bytes; the value itself is not read.
  static let size = """
    CASE WHEN large IS NULL THEN length(value) ELSE (SELECT length(l.value) FROM coffer_large l WHERE l.id = large) END
    """

  /// The expression that checks that a large value has its row in `coffer_large`: 1 or NULL.
  static let isInPlace = """
    CASE WHEN large IS NULL THEN 1
    ELSE (SELECT 1 FROM coffer_large l WHERE l.id = large AND l.key = coffer_values.key) END
    """

  /// The largest value stored inline, in bytes, so that its row fits on one page; larger ones go to `coffer_large`.
  static let largestInPlace = 800

  /// Returns the columns for a database that may have an earlier format, without attributes or large-value rows.
  static func columns(in connection: Connection) throws -> String {
    try connection.keepsAttributes ? columns : "revision, checksum, NULL, value"
  }

  /// Reads the current row of a statement.
  /// - Parameter first: The index of the revision column.
  init(_ statement: borrowing Statement, _ first: Int32) {
    revision = StoreRevision(UInt64(bitPattern: statement.integer(first)))
    checksum = statement.integer(first + 1)
    attributes = statement.bytes(first + 2)
    value = statement.bytes(first + 3)
  }

  /// Whether the checksum of the row matches its contents under this key.
  func isWhole(_ key: KeyName) -> Bool {
    Int64(bound(including(attributes, in: CofferCore.checksum(key, value)), to: revision)) == checksum
  }

  /// The contribution of the row to the digest of all rows.
  var digest: UInt64 { LiveRows.digest(revision: Int64(bitPattern: revision.rawValue), checksum: checksum) }
}
