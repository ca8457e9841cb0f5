import CofferCore
import Foundation

/// A snapshot of a store, held by a read transaction on a borrowed reader.
final class SQLiteSnapshot: RecordSnapshot {
  let revision: StoreRevision
  private let reader: Locked<Reader?>
  private let view: any StoreView

  init(_ reader: Reader, of view: any StoreView) throws {
    revision = try reader.beginSnapshot()
    self.reader = Locked(reader)
    self.view = view
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
        do { return try reader.entry(key) } catch { return try view.salvage(key, at: revision, after: error) }
      }
    }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try read { reader in
      do { return try reader.summary(of: key) } catch {
        return try view.salvage(key, at: revision, after: error).map(StoreEntry.Summary.init)
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

  private func list<R: Sendable>(needsWholeRows: Bool, _ body: (Reader) throws -> R) throws -> R {
    try read { reader in
      do { return try body(reader) } catch {
        return try view.salvageList(at: revision, after: error, needsWholeRows: needsWholeRows, body)
      }
    }
  }

  private func read<R: Sendable>(_ body: (Reader) throws -> R) throws -> R {
    let result = try reader.withLock { reader in
      guard let reader else { throw StorageError.snapshotEnded(view.file.description) }
      return Result { try body(reader) }
    }
    try view.requireUnchanged()
    return try result.get()
  }
}
