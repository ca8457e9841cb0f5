import CofferCore
import Foundation

/// What the rows of one revision prove by themselves, whatever the pages are worth that they lie on.
struct RowProof {
  let revision: StoreRevision
  /// Whether count and digest are those that the newest commit has noted: no row is missing, and none is there twice.
  let isComplete: Bool
  /// Whether the keys follow each other in the order in which SQLite looks them up: then a key that it does not find
  /// is in no whole row.
  let isOrdered: Bool
  /// How many rows have a wrong checksum, whose keys may be others than they say.
  let damaged: Int
  /// Whether each value that has a row of its own is found there, damaged or not: then others can be written there.
  let largeAreInPlace: Bool
}

extension Reader {
  /// Reads all rows; linear in their size.
  func proveRows() throws -> RowProof {
    let newest = try connection.prepare(JournalRow.newest)
    defer { newest.reset() }
    let inPlace = try connection.keepsAttributes ? ValueRow.isInPlace : "1"
    let rows = try connection.prepare(
      "SELECT key, \(try ValueRow.columns(in: connection)), \(inPlace) FROM coffer_values")
    defer { rows.reset() }
    var found = try connection.countRecords().rows
    var (last, isOrdered, damaged, largeAreInPlace) = ([UInt8](), true, 0, true)
    while try rows.step() {
      found.add(ValueRow(rows, 1).digest)
      let name = Array(rows.bytes(0))
      if !last.isEmpty, !last.lexicographicallyPrecedes(name) { isOrdered = false }
      last = name
      let key = String(validating: name, as: UTF8.self).flatMap { try? StoreKey($0) }
      if key.map(ValueRow(rows, 1).isWhole) != true { damaged += 1 }
      if rows.isNull(5) { largeAreInPlace = false }
    }
    guard try newest.step() else {
      return RowProof(
        revision: .zero, isComplete: found == LiveRows(), isOrdered: isOrdered, damaged: damaged,
        largeAreInPlace: largeAreInPlace)
    }
    let (row, isWhole) = JournalRow.read(newest)
    return RowProof(
      revision: row.revision, isComplete: isWhole && row.live == found, isOrdered: isOrdered, damaged: damaged,
      largeAreInPlace: largeAreInPlace)
  }

  /// Reads a key on a damaged page. A value whose own checksum holds is what was written, wherever it was found. That
  /// there is none is proven where all rows are there and whole.
  /// - Parameter page: what the reader is told who cannot be told more.
  func salvage(_ key: StoreKey, _ page: StorageError, proof: () throws -> RowProof) throws -> StoreEntry? {
    let page = page.locating(backend: connection.place.description, key: key)
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
}
