import CofferCore
import CofferLocks
import Foundation

/// Reads past damaged pages where something else proves the result: the checksum of a row proves its content; the count
/// and digest of all rows, as noted by the newest commit, prove that none is missing.
extension SQLiteStore {
  /// Reads a key on a damaged page.
  func salvage(_ key: StoreKey, after error: any Error) throws -> StoreEntry? {
    let page = try StorageError.damagedPage(error)
    let reader = try salvagingReader()
    defer { reader.endSnapshot() }
    let revision = try reader.beginSnapshot()
    return try reader.salvage(key, page) { try proof(reader, at: revision) }
  }

  /// Lists what is on damaged pages, if all rows of that revision are there.
  /// - Parameter needsWholeRows: whether the list does not prove each row by itself.
  func salvageList<R>(
    at revision: StoreRevision, after error: any Error, needsWholeRows: Bool, _ list: (Reader) throws -> R
  ) throws -> R {
    let page = try StorageError.damagedPage(error)
    let reader = try salvagingReader()
    defer { reader.endSnapshot() }
    guard try reader.beginSnapshot() == revision else { throw page }
    let proof = try proof(reader, at: revision)
    guard proof.isComplete, proof.isOrdered, proof.damaged == 0 || !needsWholeRows else { throw page }
    return try list(reader)
  }

  /// Whether a batch may be written past damaged pages: the tables that it changes prove themselves row by row, and no
  /// row is passed over that it replaces.
  func maySalvage(_ error: any Error) -> Bool {
    guard let page = try? StorageError.damagedPage(error), let reader = try? salvagingReader() else { return false }
    defer { reader.endSnapshot() }
    // The first page is the schema's, which has no rows of ours.
    guard page.underlying?.text.hasSuffix(" page 1") == false, let revision = try? reader.beginSnapshot(),
      let proof = try? proof(reader, at: revision)
    else { return false }
    return proof.isComplete && proof.isOrdered && proof.largeAreInPlace
  }

  /// Linear in the size of the values, once for each revision.
  private func proof(_ reader: Reader, at revision: StoreRevision) throws -> RowProof {
    if let known = provenRows.withLock({ $0 }), known.revision == revision { return known }
    let proof = try reader.proveRows()
    provenRows.withLock { $0 = proof }
    return proof
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

extension StorageError {
  /// An error as that of a damaged page; throws any other.
  static func damagedPage(_ error: any Error) throws -> StorageError {
    guard let error = error as? StorageError, error.isDamagedPage else { throw error }
    return error
  }
}
