import CofferCore
import Foundation

/// A snapshot of a store that is open for reading only.
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

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try read { reader in
      try keys.map { key in
        do { return try reader.entry(key) } catch { return try view.salvage(key, after: error) }
      }
    }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try read { reader in
      do { return try reader.summary(of: key) } catch {
        return try view.salvage(key, after: error).map(StoreEntry.Summary.init)
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
        return try view.salvageList(after: error, needsWholeRows: needsWholeRows, body)
      }
    }
  }

  /// Performs a read, and fails if the files changed meanwhile.
  private func read<R: Sendable>(_ body: (Reader) throws -> R) throws -> R {
    let result = try reader.withLock { reader in
      guard let reader else { throw StorageError.snapshotEnded(view.file.description) }
      return Result { try body(reader) }
    }
    guard try view.isCurrent() else { throw StorageError.changedMeanwhile(view.file.description) }
    return try result.mapError { $0.withoutQuarantine }.get()
  }
}

extension StorageError {
  /// The error of a read during which the store kept changing, where SQLite's locks cannot be taken.
  static func changedMeanwhile(_ location: String) -> StorageError {
    StorageError(
      .unavailable, "The store changed while it was read, and locks that would prevent that are not available.",
      advice: "Read again with a new snapshot.", location: location)
  }
}

extension Error {
  /// The same error with advice for a store in which damaged bytes cannot be quarantined.
  var withoutQuarantine: any Error {
    guard let error = self as? StorageError, error.code == .damaged, error.key != nil, error.underlying == nil else {
      return self
    }
    return StorageError(
      error.code, error.message, advice: "Its bytes stay where they are. Other keys are not affected.",
      location: error.location, key: error.key)
  }
}
