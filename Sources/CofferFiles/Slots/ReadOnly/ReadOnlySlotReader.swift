import CofferCore
import CofferSQLite
import Foundation

/// A reader of the values of a read-only store in slots, in the state that its journal describes.
///
/// Commits of a killed writer are not rolled forward: their staged values are read where they are, and the values they
/// removed count as removed.
final class ReadOnlySlotReader: Sendable {
  typealias Recorded = SlotHandle.Recorded

  let slots: any Slots
  /// The journal, or `nil` if there is none; the values are then read without records.
  let journal: SQLiteEngine?
  private let name: String
  private let onDamage: (@Sendable (DamageReport) -> Void)?
  private let reported = Locked<Set<SlotID>>([])

  /// The number of attempts to read a value that changes concurrently.
  private static let attempts = 16

  init(
    _ slots: any Slots, _ journal: SQLiteEngine?, name: String, onDamage: (@Sendable (DamageReport) -> Void)?
  ) {
    (self.slots, self.journal, self.name, self.onDamage) = (slots, journal, name, onDamage)
  }

  // MARK: The newest state

  /// Returns the newest value of a key, or `nil` if there is none.
  func value(_ key: KeyName) throws -> SlotContent? {
    var seen: SlotID?
    var wasUnrecorded = false
    for _ in 0..<Self.attempts {
      if let recorded = try line(key) {
        let content = try content(.value(key), key)
        if let content, slots.matches(recorded.record, key, content) { return recorded.content(content) }
        if let content = try aside(.staged(recorded.record.id), recorded, key) {
          return recorded.content(aside: content)
        }
        // The same record twice, and its value in no slot: it is not just being moved from one slot to another.
        if seen == recorded.record.id { return try value(unlike: recorded, key, content) }
        seen = recorded.record.id
      } else {
        // No record twice: the value does not come from a commit in progress.
        if wasUnrecorded { return try unrecorded(key) }
        wasUnrecorded = true
      }
    }
    throw StorageError(
      .busy, "Another process keeps changing the value.", advice: "Try again.", location: name, key: key)
  }

  // MARK: The state of a snapshot

  /// Returns the value of a record that may have been replaced since.
  func value(_ key: KeyName, at recorded: Recorded) throws -> SlotContent? {
    let record = recorded.record
    if let content = try content(.value(key), key), slots.matches(record, key, content) {
      return recorded.content(content)
    }
    // A value moves from staged to published to retained: reading in this order cannot miss it.
    if let content = try aside(.staged(record.id), recorded, key) { return recorded.content(aside: content) }
    let content = try content(.value(key), key)
    if let content, slots.matches(record, key, content) { return recorded.content(content) }
    if let content = try aside(.retained(record.id), recorded, key) { return recorded.content(aside: content) }
    guard try line(key)?.record.id == record.id else {
      throw StorageError(
        .unavailable, "The value was replaced while the snapshot was open; a read-only store cannot retain it.",
        advice: "Read again with a new snapshot.", location: name, key: key)
    }
    return try value(unlike: recorded, key, content)
  }

  /// Returns the value of a key without a record in the snapshot of the journal: another program has added it.
  func added(_ key: KeyName) throws -> SlotContent? {
    guard try line(key) == nil else { return nil }  // A later commit added it.
    return try unrecorded(key)
  }

  // MARK: Values that differ from their records

  /// Returns the value that another program put in place of a recorded one, or throws `damaged`.
  private func value(unlike recorded: Recorded, _ key: KeyName, _ content: SlotContent?) throws -> SlotContent? {
    let record = recorded.record
    if let content, record.loss != .none, content.version == record.id { return content }  // It was restored.
    if slots.isStillLost(record, key, content) || slots.isCopyServed {
      throw damaged("the file was damaged, and its copy has an older value or none", recorded, key, content)
    }
    if slots.isDamaged(record, content) {
      throw damaged("its checksum does not match, although it was not edited", recorded, key, content)
    }
    let steps = try intents(of: key)
    // The slot holds the previous value: the new one was never published.
    if steps.last?.staged == record.id, content.map({ isVersion($0, of: steps, key) }) ?? true {
      throw damaged("it was committed, but its staged value is missing", recorded, key, content)
    }
    return content?.asEdit  // Another program has edited or removed it.
  }

  private func unrecorded(_ key: KeyName) throws -> SlotContent? {
    guard let content = try content(.value(key), key) else { return nil }
    // A value of the copy without a record was removed after the copy was made.
    if journal != nil, slots.isCopyServed { return nil }
    let steps = try intents(of: key)
    guard let last = steps.last, last.staged == nil, isVersion(content, of: steps, key) else { return content.asEdit }
    return nil  // It was removed by a commit that is not rolled forward.
  }

  /// Whether the content is one of the versions that commits have replaced or removed.
  private func isVersion(_ content: SlotContent, of steps: [SlotJournal.Intent], _ key: KeyName) -> Bool {
    steps.compactMap(\.previous).contains { previous in
      slots.matches(previous, key, content) || (previous.stamp != nil && previous.stamp == content.stamp)
    }
  }

  private func damaged(_ what: String, _ recorded: Recorded, _ key: KeyName, _ content: SlotContent?) -> StorageError {
    if reported.withLock({ $0.insert(recorded.record.id).inserted }) {
      let size = slots.keepsSecrets ? nil : content?.data.count ?? 0
      onDamage?(DamageReport(key: key, revision: recorded.revision, size: size, location: name))
    }
    return StorageError(
      .damaged, "The stored value is damaged: \(what).",
      advice: "Its bytes were left unchanged. Other keys are not affected.", location: name, key: key)
  }

  // MARK: Journal and slots

  private func line(_ key: KeyName) throws -> Recorded? {
    guard let journal else { return nil }
    return try journal.read { reader in
      try reader.withValue(key) { [name] revision, bytes in
        guard let record = SlotRecord(bytes) else { throw StorageError.damagedRecord(key, name) }
        return Recorded(revision: revision, record: record)
      }
    }
  }

  /// Returns the committed changes of a key that may not have been published.
  private func intents(of key: KeyName) throws -> [SlotJournal.Intent] {
    guard let journal else { return [] }
    return try journal.read { try SlotJournal.intents($0.statements, of: name) }.filter { $0.key == key }
  }

  private func content(_ slot: Slot, _ key: KeyName) throws -> SlotContent? {
    do { return try slots.read(slot) } catch let error as StorageError { throw error.locating(at: name, key: key) }
  }

  private func aside(_ slot: Slot, _ recorded: Recorded, _ key: KeyName) throws -> SlotContent? {
    guard let content = try content(slot, key) else { return nil }
    if let owner = content.key, owner != key { throw StorageError.anothersWaiting(key, name) }
    // The staged or retained version of a secret is identified by its name.
    return slots.keepsSecrets || recorded.record.matches(key, content.data) ? content : nil
  }
}

extension SlotContent {
  /// The content as an edit, whose bytes alone show whether they are an envelope.
  var asEdit: SlotContent {
    guard SealedValue.isPresent(in: data) else { return self }
    return SlotContent(
      data, stamp: stamp, version: version, key: key, attributes: attributes.merging(ValueAttributes.foundEnvelope))
  }
}

extension SlotHandle.Recorded {
  /// The content of the value slot, with the attributes stored with the version.
  fileprivate func content(_ content: SlotContent) -> SlotContent {
    SlotContent(content.data, stamp: content.stamp, version: content.version, attributes: attributes(with: content))
  }

  /// The content of a staged or retained slot, with the attributes stored with the version.
  fileprivate func content(aside content: SlotContent) -> SlotContent {
    SlotContent(content.data, stamp: content.stamp, version: content.version, attributes: attributes(aside: content))
  }
}
