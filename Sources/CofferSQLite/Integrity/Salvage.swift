import CofferCore
import Foundation

/// Reads past damaged pages whose results are proven otherwise: the checksum of a row proves its content; the count and
/// digest of all rows, as recorded by the newest commit, prove that none is missing.
extension StoreView {
  /// Reads a key on a damaged page.
  /// - Parameter snapshot: the revision to read; the newest one if it is `nil`.
  func salvage(_ key: KeyName, at snapshot: StoreRevision? = nil, after error: any Error) throws -> StoreEntry? {
    let page = try StorageError.damagedPage(error)
    let reader = try salvagingReader()
    defer { reader.endSnapshot() }
    let revision = try reader.beginSnapshot()
    let entry = try reader.salvage(key, page) { try proof(reader, at: revision) }
    // What a later commit has changed shows nothing about the snapshot.
    if let snapshot, snapshot != revision, entry.map({ $0.revision > snapshot }) ?? true { throw page }
    return entry
  }

  /// Reads a system record on a damaged page.
  func salvage(_ name: SystemRecord.Name, after error: any Error) throws -> SystemRecord {
    let page = try StorageError.damagedPage(error)
    return try salvagingReader().salvage(name, page)
  }

  /// Lists keys or values past damaged pages, if all rows of the revision are present.
  /// - Parameter needsWholeRows: whether all rows must be intact, because `list` does not verify each row itself.
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

  /// Whether a batch may be written past damaged pages: the rows of the tables that it changes are proven, and lookups
  /// find each row that it replaces.
  func maySalvage(_ error: any Error) -> Bool {
    guard let page = try? StorageError.damagedPage(error), let reader = try? salvagingReader() else { return false }
    defer { reader.endSnapshot() }
    // The first page contains the schema, which has no checksums of rows.
    guard page.underlying?.text.hasSuffix(" page 1") == false, let revision = try? reader.beginSnapshot(),
      let proof = try? proof(reader, at: revision)
    else { return false }
    return proof.isComplete && proof.isOrdered && proof.largeValuesAreReachable
  }

  /// Returns the proof of a revision's rows, cached for the latest one.
  /// - Complexity: Linear in the total size of the values, once for each revision.
  private func proof(_ reader: Reader, at revision: StoreRevision) throws -> RowProof {
    if let known = provenRows.withLock({ $0 }), known.revision == revision { return known }
    let proof = try reader.proveRows()
    provenRows.withLock { $0 = proof }
    return proof
  }

  /// Opens a reader that reads past damaged pages. It must not enter the pool: its cache contains unproven pages.
  func salvagingReader() throws -> Reader {
    try Reader(salvagedFile, onDamage: { [quarantine] in quarantine.report($0) })
  }

  var salvagedFile: StoreFile {
    var file = file
    file.ignoresPageFaults = true
    return file
  }
}

extension StorageError {
  /// Returns `error` if it reports a damaged page.
  /// - Throws: `error` itself, if it is any other.
  static func damagedPage(_ error: any Error) throws -> StorageError {
    guard let error = error as? StorageError, error.isDamagedPage else { throw error }
    return error
  }
}
