import CofferCore
import CofferSQLite

extension SlotStore {
  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? { try await records.record(name) }

  func recordedAttributes(of key: KeyName) async throws -> ValueAttributes? {
    try records.requireWritable()
    return try records.read { try $0.withValue(key) { _, bytes in SlotRecord(bytes)?.attributes } ?? nil }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try records.requireWritable()
    if try await !reading({ [reconciler] in reconciler.isSuspect(key) }) {
      let found = try records.read { reader in
        try (reader.summary(of: key), reader.withValue(key) { _, bytes in SlotRecord(bytes) })
      }
      guard let summary = found.0 else { return nil }
      if case .some(.some(let record)) = found.1, record.loss == .none {
        return summary.of(record, keepsSecrets: handle.slots.keepsSecrets)
      }
    }
    // The slot differs from its record: read the value, which also records the edit.
    guard let entry = try await entry(key) else { return nil }
    let recorded = try? records.read { try $0.summary(of: key) }
    return StoreEntry.Summary(
      key: key, size: handle.slots.keepsSecrets ? nil : entry.value.count, revision: entry.revision,
      date: recorded?.revision == entry.revision ? recorded?.date : nil, attributes: entry.attributes)
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
  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? { records.recentCommits(after: revision) }

  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    defer { recovery.beginIfWaiting() }
    return records.changes(since: position)
  }
}
