import CofferCore
import Foundation

/// A snapshot of a store, held by a read transaction on a borrowed reader.
final class SQLiteSnapshot: RecordSnapshot {
  let revision: StoreRevision
  private let reader: Locked<Reader?>
  private let store: SQLiteStore

  init(_ reader: Reader, of store: SQLiteStore) throws {
    revision = try reader.beginSnapshot()
    self.reader = Locked(reader)
    self.store = store
  }

  /// Ends the transaction; later reads throw.
  func end() {
    reader.withLock { reader in
      reader?.endSnapshot()
      reader = nil
    }
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try read { reader in
      try keys.map { key in
        do { return try reader.entry(key) } catch { return try salvage(key, after: error) }
      }
    }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try read { reader in
      do { return try reader.summary(of: key) } catch {
        return StoreEntry.Summary(try salvage(key, after: error))
      }
    }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try list(needsWholeRows: false) { try $0.page(prefix: prefix, after: after, limit: limit) }
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try list(needsWholeRows: true) { try $0.summaries(prefix: prefix, after: after, limit: limit) }
  }

  func systemRecords() throws -> [SystemRecord.Name: Data] { try read { try $0.systemRecords() } }

  /// Reads an entry past a damaged page, if the snapshot contains it.
  private func salvage(_ key: KeyName, after error: any Error) throws -> StoreEntry {
    guard let entry = try store.salvage(key, after: error), entry.revision <= revision else { throw error }
    return entry
  }

  private func list<R: Sendable>(needsWholeRows: Bool, _ body: (Reader) throws -> R) throws -> R {
    try read { reader in
      do { return try body(reader) } catch {
        return try store.salvageList(at: revision, after: error, needsWholeRows: needsWholeRows, body)
      }
    }
  }

  private func read<R: Sendable>(_ body: (Reader) throws -> R) throws -> R {
    try reader.withLock { reader in
      guard let reader else { throw StorageError.snapshotEnded(store.file.description) }
      return try body(reader)
    }
  }
}
