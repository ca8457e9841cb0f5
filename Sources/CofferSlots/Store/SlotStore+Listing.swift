import CofferCore
import CofferSQLite

extension SlotStore {
  func record(_ name: SystemRecordName) async throws -> SystemRecord? { try await records.record(name) }

  func summary(of key: StoreKey) async throws -> StoreEntrySummary? {
    try records.requireWritable()
    if try await !reading({ [reconciler] in reconciler.isSuspect(key) }) {
      let found = try records.read { reader in
        try (reader.summary(of: key), reader.withValue(key) { _, bytes in SlotRecord(bytes) })
      }
      guard let summary = found.0 else { return nil }
      if case .some(.some(let record)) = found.1, record.loss == .none {
        return summary.of(record, keepsSecrets: home.slots.keepsSecrets)
      }
    }
    // What is there is not what the journal says: it is looked at as a whole, and taken in.
    guard let entry = try await entry(key) else { return nil }
    let recorded = try? records.read { try $0.summary(of: key) }
    return StoreEntrySummary(
      key: key, size: home.slots.keepsSecrets ? nil : entry.value.count, revision: entry.revision,
      date: recorded?.revision == entry.revision ? recorded?.date : nil, attributes: entry.attributes)
  }
}

extension StoreEntrySummary {
  /// What the summary of a record says of the value that the record describes; less when the record is damaged.
  func of(_ record: SlotRecord?, keepsSecrets: Bool) -> StoreEntrySummary {
    StoreEntrySummary(
      key: key, size: keepsSecrets ? nil : record?.size, revision: revision, date: date,
      attributes: record?.attributes ?? .none)
  }
}
