import CofferCore
import CofferSQLite

/// The quarantine of a handle, which keeps damaged bytes for inspection and reports each damaged value once. That of a
/// read-only store only reports.
final class SlotQuarantine: Sendable {
  private let reported = Locked<Set<SlotID>>([])
  private let handle: SlotHandle
  private let journal: SQLiteEngine?

  init(_ handle: SlotHandle, _ journal: SQLiteEngine?) {
    self.handle = handle
    self.journal = journal
  }

  var name: String { handle.name }

  /// Reports a damaged version, once.
  func emit(_ report: DamageReport, of id: SlotID) {
    if reported.withLock({ $0.insert(id).inserted }) { handle.configuration.common.emit(report) }
  }

  /// Reports a damaged value whose bytes stay where they are, once, and returns the error for its reader.
  func reportUnkept(
    _ what: String, _ key: KeyName, _ recorded: SlotHandle.Recorded, _ content: SlotContent?
  ) -> StorageError {
    let size = handle.slots.keepsSecrets ? nil : content?.data.count ?? 0
    emit(DamageReport(key: key, revision: recorded.revision, size: size, location: name), of: recorded.record.id)
    return StorageError(
      .damaged, "The stored value is damaged: \(what).",
      advice: "Its bytes were left unchanged. Other keys are not affected.", location: name, key: key)
  }

  /// Reports the loss of a value's newest version, once, and returns the error for its reader.
  func reportLoss(_ key: KeyName, _ recorded: SlotHandle.Recorded) -> StorageError {
    if handle.isReadOnly {
      return reportUnkept("the file was damaged, and its copy has an older value or none", key, recorded, nil)
    }
    let size = handle.slots.keepsSecrets ? nil : 0
    emit(DamageReport(key: key, revision: recorded.revision, size: size, location: name), of: recorded.record.id)
    return StorageError(
      .damaged,
      "The newest value is lost: the file was damaged, and the copy that replaced it has an older value or none.",
      advice: "Restore a backup of the file, or write the key again. The damaged bytes are in the quarantine.",
      location: name, key: key)
  }

  /// Puts the bytes of a damaged value into the quarantine unless they are there, and returns a report.
  func keep(_ key: KeyName, _ recorded: SlotHandle.Recorded, _ content: SlotContent) throws -> DamageReport {
    let id = recorded.record.id
    do {
      if try handle.slots.read(.quarantined(id.description)) == nil { try put(content, id, key) }
    } catch let error as StorageError {
      throw error.locating(at: name, key: key)
    }
    return DamageReport(
      key: key, revision: recorded.revision, size: size(of: content), location: name, quarantineID: id.description)
  }

  /// Quarantines and reports a damaged value, once, and returns the error for its reader.
  func report(_ key: KeyName, _ recorded: SlotHandle.Recorded, _ content: SlotContent) -> StorageError {
    let what = "its checksum does not match, although it was not edited"
    if handle.isReadOnly { return reportUnkept(what, key, recorded, content) }
    let id = recorded.record.id
    let isFirst = reported.withLock { $0.insert(id).inserted }
    var isKept = true
    if isFirst {
      do {
        try put(content, id, key)
        journal?.noteQuarantinedSoon(id.description, key, recorded.revision)
      } catch {
        isKept = false
        reported.withLock { _ = $0.remove(id) }  // The next reader tries again.
      }
      handle.configuration.common.emit(
        DamageReport(
          key: key, revision: recorded.revision, size: size(of: content), location: handle.name,
          quarantineID: isKept ? id.description : nil))
    }
    return StorageError(
      .damaged, "The stored value is damaged: \(what).",
      advice: isKept
        ? "Its bytes were kept in the quarantine as \(id). Write the key again. Other keys are not affected."
        : "Copy it before you write the key again: its bytes could not be kept. Other keys are not affected.",
      location: handle.name, key: key)
  }

  private func put(_ content: SlotContent, _ id: SlotID, _ key: KeyName) throws {
    _ = try handle.slots.write(content.data, to: .quarantined(id.description), of: key, attributes: .none)
  }

  /// The number of damaged bytes; `nil` for a secret.
  private func size(of content: SlotContent) -> Int? { handle.slots.keepsSecrets ? nil : content.data.count }
}
