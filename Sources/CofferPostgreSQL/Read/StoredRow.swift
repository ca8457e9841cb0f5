import CofferCore
import Foundation

/// A row of `values` as a statement over ``ReadStatements/columns`` has read it.
struct StoredRow {
  let revision: StoreRevision
  let checksum: Int64
  let encodedAttributes: [UInt8]
  /// The bytes of the value; `nil` if the statement has not read them.
  let value: Data?

  /// Reads a row whose columns begin at `column`.
  init(_ rows: ServerRows, _ row: Int, from column: Int) {
    revision = StoreRevision(row: rows.int8(row, column))
    checksum = rows.int8(row, column + 1)
    encodedAttributes = rows.withBytes(row, column + 2) { Array($0) }
    value = rows.isNull(row, column + 3) ? nil : rows.data(row, column + 3)
  }

  /// The attributes; `nil` for damaged ones.
  var attributes: ValueAttributes? { ValueAttributes(encoded: encodedAttributes) }

  /// Whether the checksum of the row matches what was read.
  func isWhole(_ name: RowName, store: Int64) -> Bool {
    guard let value else { return false }
    let content = RowChecksum.content(store: store, isRecord: name.isRecord, name.key, value, encodedAttributes)
    return RowChecksum.bound(content, to: Int64(bitPattern: revision.rawValue)) == checksum
  }
}

extension StoreRevision {
  /// Creates the revision of a row. That of a damaged one may be any number.
  init(row: Int64) { self.init(UInt64(bitPattern: row)) }

  /// Creates a revision that others continue. A damaged, negative one counts as none, which is a lost history wherever
  /// something newer is known.
  init(head: Int64) { self.init(UInt64(max(0, head))) }
}
