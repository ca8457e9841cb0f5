import CofferCore
import CofferLocks
import Foundation

/// Reads on past damaged pages, where something else proves what is read: the checksum of a row says that it is what was
/// written, and count and digest of all rows, which the newest commit has noted, that none is missing.
extension SQLiteStore {
  /// Reads a key on a damaged page. That it is not found proves nothing there.
  func salvage(_ key: Key, after error: any Error) throws -> Entry {
    let page = try damagedPage(error)
    let found: Entry?
    do {
      found = try salvagingReader().entry(key)
    } catch let failure as StorageError where failure.code == .damaged {
      throw failure.key == nil ? page.locating(backend: place.description, key: key) : failure
    }
    guard let found else { throw page.locating(backend: place.description, key: key) }
    return found
  }

  /// Lists keys on damaged pages, as ``Reader/page(prefix:after:limit:)`` does, if all rows of that revision are there.
  func salvagePage(
    prefix: Key?, after: Key?, limit: Int, at revision: Revision, after error: any Error
  ) throws -> [Entry] {
    let page = try damagedPage(error)
    let reader = try salvagingReader()
    defer { reader.endSnapshot() }
    guard try reader.beginSnapshot() == revision, try hasAllRows(reader, at: revision) else { throw page }
    return try reader.page(prefix: prefix, after: after, limit: limit)
  }

  /// Whether a batch may be written past damaged pages: the tables that it changes prove themselves row by row.
  func maySalvage(_ error: any Error) -> Bool {
    guard let page = try? damagedPage(error), let reader = try? salvagingReader() else { return false }
    defer { reader.endSnapshot() }
    // The first page is the schema's, which has no rows of ours.
    guard page.underlying?.text.hasSuffix(" page 1") == false, let revision = try? reader.beginSnapshot() else {
      return false
    }
    return (try? hasAllRows(reader, at: revision)) ?? false
  }

  /// Linear in the number of values, once for each revision.
  private func hasAllRows(_ reader: Reader, at revision: Revision) throws -> Bool {
    if let known = provenRows.withLock({ $0 }), known.revision == revision { return known.isComplete }
    let isComplete = try reader.hasAllRows()
    provenRows.withLock { $0 = (revision, isComplete) }
    return isComplete
  }

  private func damagedPage(_ error: any Error) throws -> StorageError {
    guard let error = error as? StorageError, error.isDamagedPage else { throw error }
    return error
  }

  /// A reader past damaged pages. Not for the pool: its memory holds pages that nothing has proven.
  func salvagingReader() throws -> Reader {
    try Reader(salvagingPlace, onDamage: { [quarantine] in quarantine.report($0) })
  }

  var salvagingPlace: StorePlace {
    var place = place
    place.ignoresPageFaults = true
    return place
  }
}

extension Reader {
  /// Whether count and digest of the rows are those that the newest commit has noted. They say nothing about the bytes
  /// of a row, which its own checksum covers.
  func hasAllRows() throws -> Bool {
    let newest = try connection.prepare(JournalRow.newest)
    defer { newest.reset() }
    let rows = try connection.prepare("SELECT revision, checksum FROM coffer_values")
    defer { rows.reset() }
    var found = LiveRows()
    while try rows.step() { found.add(LiveRows.digest(revision: rows.integer(0), checksum: rows.integer(1))) }
    guard try newest.step() else { return found == LiveRows() }
    let (row, isWhole) = JournalRow.read(newest)
    return isWhole && row.live == found
  }
}
