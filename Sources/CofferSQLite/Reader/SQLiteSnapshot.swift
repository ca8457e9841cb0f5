import CofferCore
import CofferLocks

/// One state of a store, held by a read transaction on a borrowed reader.
final class SQLiteSnapshot: StorageSnapshot {
  let revision: Revision
  private let reader: Locked<Reader?>
  private let place: StorePlace

  init(_ reader: Reader, place: StorePlace) throws {
    revision = try reader.beginSnapshot()
    self.reader = Locked(reader)
    self.place = place
  }

  /// Ends the transaction; later reads throw.
  func end() {
    reader.withLock { reader in
      reader?.endSnapshot()
      reader = nil
    }
  }

  func entries(_ keys: [Key]) async throws -> [Entry?] {
    try read { reader in try keys.map(reader.entry) }
  }

  func page(prefix: Key?, after: Key?, limit: Int) async throws -> [Entry] {
    try read { try $0.page(prefix: prefix, after: after, limit: limit) }
  }

  private func read<R: Sendable>(_ body: (Reader) throws -> R) throws -> R {
    try reader.withLock { reader in
      guard let reader else { throw StorageError.snapshotEnded(place.description) }
      return try body(reader)
    }
  }
}
