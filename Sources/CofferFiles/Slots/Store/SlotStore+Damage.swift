import CofferCore
import CofferSQLite

extension SlotStore {
  func damage(of key: KeyName) async throws -> DamageReport? {
    let journal = try openWriter().journal
    try journal.requireNoLoss()
    switch try await settled(key) {
    case .damaged(let recorded, let content):
      let report = try await reading { [quarantine] in try quarantine.keep(key, recorded, content) }
      try await journal.noteQuarantined(recorded.record.id.description, key, recorded.revision)
      return report
    case .lost(let recorded):
      // The whole file is in the quarantine: otherwise its copy would not be read.
      return DamageReport(
        key: key, revision: recorded.revision, size: slots.keepsSecrets ? nil : 0, location: description,
        isCopyUsed: true)
    case .entry, .absent, .differs, .unrecorded: return nil
    }
  }

  func quarantine(_ entry: StoreEntry) async throws -> String {
    let journal = try openWriter().journal
    try journal.requireNoLoss()
    guard let row = try await journal.entry(entry.key), row.revision == entry.revision else {
      throw StorageError.preconditionFailed(entry.key, location: description)
    }
    let recorded = try handle.recorded(row)
    let content = SlotContent(entry.value)
    _ = try await reading { [quarantine] in try quarantine.keep(entry.key, recorded, content) }
    try await journal.noteQuarantined(recorded.record.id.description, entry.key, recorded.revision)
    return recorded.record.id.description
  }
}
