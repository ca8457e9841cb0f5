import CofferCore
import Foundation

/// The facts that the rows of one revision prove by themselves, independently of the pages that contain them.
struct RowProof {
  let revision: StoreRevision
  /// Whether count and digest match those that the newest commit recorded: no row is missing or duplicated.
  let isComplete: Bool
  /// Whether the keys are in the order of SQLite's lookups. If so, a key that a lookup does not find is in no intact
  /// row.
  let isOrdered: Bool
  /// The number of rows whose checksum does not match; their keys may be wrong.
  let damaged: Int
  /// Whether each large value is found in its row, damaged or not. If so, others can be written to that table.
  let largeValuesAreReachable: Bool
}

extension Reader {
  /// Reads all rows and proves them.
  /// - Complexity: Linear in the total size of the rows.
  func proveRows() throws -> RowProof {
    let newest = try connection.prepare(JournalRow.newest)
    defer { newest.reset() }
    let inPlace = try connection.keepsAttributes ? ValueRow.isInPlace : "1"
    let rows = try connection.prepare(
      "SELECT key, \(try ValueRow.columns(in: connection)), \(inPlace) FROM coffer_values")
    defer { rows.reset() }
    var found = try connection.countRecords().rows
    var (last, isOrdered, damaged, largeValuesAreReachable) = ([UInt8](), true, 0, true)
    while try rows.step() {
      found.add(ValueRow(rows, 1).digest)
      let name = Array(rows.bytes(0))
      // A flipped bit makes a key text: the same bytes, which a lookup expects before all others.
      if !last.isEmpty && !last.lexicographicallyPrecedes(name) || !rows.isBlob(0) { isOrdered = false }
      last = name
      let key = String(validating: name, as: UTF8.self).flatMap { try? KeyName($0) }
      if key.map(ValueRow(rows, 1).isWhole) != true { damaged += 1 }
      if rows.isNull(5) { largeValuesAreReachable = false }
    }
    guard try newest.step() else {
      return RowProof(
        revision: .zero, isComplete: found == LiveRows(), isOrdered: isOrdered, damaged: damaged,
        largeValuesAreReachable: largeValuesAreReachable)
    }
    let (row, isWhole) = JournalRow.read(newest)
    return RowProof(
      revision: row.revision, isComplete: isWhole && row.live == found, isOrdered: isOrdered, damaged: damaged,
      largeValuesAreReachable: largeValuesAreReachable)
  }

  /// Reads a key on a damaged page.
  ///
  /// A value that matches its own checksum is what was written, wherever it was found. A key is proven to be absent if
  /// all rows are present and intact.
  /// - Parameter page: the error of the damaged page, thrown if neither can be proven.
  func salvage(_ key: KeyName, _ page: StorageError, proof: () throws -> RowProof) throws -> StoreEntry? {
    let page = page.locating(at: connection.file.description, key: key)
    do {
      if let entry = try entry(key) { return entry }
      let proof = try proof()
      guard proof.isComplete else { throw page }
      if proof.isOrdered, proof.damaged == 0 { return nil }
      guard let entry = try proof.isOrdered ? nil : entryInAnyOrder(key) else { throw page }
      return entry
    } catch let error as StorageError where error.code == .damaged && error.key == nil {
      throw page
    }
  }

  /// Reads a system record on a damaged page. One that matches its own checksum is what was written; one that is not
  /// found is not proven to be absent.
  /// - Parameter page: the error of the damaged page, thrown if no intact record is found.
  func salvage(_ name: SystemRecord.Name, _ page: StorageError) throws -> SystemRecord {
    guard let record = try? record(name) else { throw page }
    return record
  }
}
