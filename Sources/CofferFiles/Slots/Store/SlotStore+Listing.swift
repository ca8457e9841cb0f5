import CofferCore
import CofferSQLite
import Foundation

extension SlotStore {
  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    if let journal { return try await journal.record(name) }
    try requireOpen()
    return nil
  }

  /// Returns the attributes in the journal's record of a key without access to the underlying store; `nil` if there is
  /// no record or if it is damaged.
  func recordedAttributes(of key: KeyName) async throws -> ValueAttributes? {
    try requireOpen()
    return try journal?.read { try $0.withValue(key) { _, bytes in SlotRecord(bytes)?.attributes } ?? nil }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try requireOpen()
    if let writer, try await !reading({ [reconciler = writer.reconciler] in reconciler.isSuspect(key) }) {
      let found = try writer.journal.read { reader in
        try (reader.summary(of: key), reader.withValue(key) { _, bytes in SlotRecord(bytes) })
      }
      guard let summary = found.0 else { return nil }
      if case .some(.some(let record)) = found.1, record.loss == .none {
        return summary.of(record, keepsSecrets: handle.slots.keepsSecrets)
      }
    }
    // The slot differs from its record: read the value, which also records the edit.
    guard let entry = try await entry(key) else { return nil }
    let recorded = try? writer?.journal.read { try $0.summary(of: key) }
    return summary(of: entry, date: recorded?.revision == entry.revision ? recorded?.date : nil)
  }

  /// Returns the summary of a value that was read.
  func summary(of entry: StoreEntry, date: Date? = nil) -> StoreEntry.Summary {
    StoreEntry.Summary(
      key: entry.key, size: slots.keepsSecrets ? nil : entry.value.count, revision: entry.revision, date: date,
      attributes: entry.attributes)
  }
}

extension StoreEntry.Summary {
  /// Returns the summary of the value that a record describes, without size and attributes if the record is damaged.
  func of(_ record: SlotRecord?, keepsSecrets: Bool) -> StoreEntry.Summary {
    StoreEntry.Summary(
      key: key, size: keepsSecrets ? nil : record?.size, revision: revision, date: date,
      attributes: record?.attributes ?? .none)
  }
}

extension SlotStore {
  var latestRevision: StoreRevision { journal?.latestRevision ?? .zero }

  var latestPosition: JournalPosition { journal?.latestPosition ?? JournalPosition(epoch: 0, revision: .zero) }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { journal?.recentCommits(after: revision) }

  /// Without a journal there are no changes to deliver, and the stream ends at once.
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    defer { writer?.recovery.beginIfWaiting() }
    return journal?.changes(since: position) ?? AsyncStream { $0.finish() }
  }

  func retainedCount() async throws -> Int {
    try requireOpen()
    return try await queue.run { [handle] in
      try handle.slots.list().count { if case .retained = $0.slot { true } else { false } }
    }
  }

  func availability() -> AsyncStream<StoreAvailability> { slotAvailability.subscribe() }
}
