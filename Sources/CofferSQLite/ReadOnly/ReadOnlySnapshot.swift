import CofferCore
import CofferLocks
import Foundation

/// One state of a store that cannot be written.
final class ReadOnlySnapshot: RecordSnapshot {
  let revision: StoreRevision
  private let reader: Locked<Reader?>
  private let view: ReadOnlyView

  init(_ reader: Reader, _ view: ReadOnlyView) throws {
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

  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    try read { reader in
      try keys.map { key in
        do { return try reader.entry(key) } catch { return try view.salvage(key, after: error) }
      }
    }
  }

  func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry] {
    try list(needsWholeRows: false) { try $0.page(prefix: prefix, after: after, limit: limit) }
  }

  func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    try list(needsWholeRows: true) { try $0.summaries(prefix: prefix, after: after, limit: limit) }
  }

  func systemRecords() throws -> [SystemRecordName: Data] { try read { try $0.systemRecords() } }

  private func list<R: Sendable>(needsWholeRows: Bool, _ body: (Reader) throws -> R) throws -> R {
    try read { reader in
      do { return try body(reader) } catch {
        return try view.salvageList(after: error, needsWholeRows: needsWholeRows, body)
      }
    }
  }

  /// What was read counts only if nobody has written meanwhile.
  private func read<R: Sendable>(_ body: (Reader) throws -> R) throws -> R {
    let result = try reader.withLock { reader in
      guard let reader else { throw StorageError.snapshotEnded(view.place.description) }
      return Result { try body(reader) }
    }
    guard try view.isCurrent() else { throw StorageError.changedMeanwhile(view.place.description) }
    return try result.mapError { $0.withoutQuarantine }.get()
  }
}

extension StorageError {
  /// What the reader of a store hears that somebody writes to all the time, where SQLite's locks cannot be taken.
  static func changedMeanwhile(_ backend: String) -> StorageError {
    StorageError(
      .unavailable, "Somebody has written to the store while it was read, where nobody can be kept from that.",
      advice: "Read again with a new snapshot.", backend: backend)
  }
}

extension Error {
  /// The same error, where damaged bytes could not be kept.
  var withoutQuarantine: any Error {
    guard let error = self as? StorageError, error.code == .damaged, error.key != nil, error.underlying == nil else {
      return self
    }
    return StorageError(
      error.code, error.message, advice: "Its bytes stay where they are. Other keys are not affected.",
      backend: error.backend, key: error.key)
  }
}
