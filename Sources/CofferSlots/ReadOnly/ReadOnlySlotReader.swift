import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

/// Reads the values of a home in slots that cannot be written, as its journal says that they are.
///
/// What a killed writer has committed and not carried out stays so: its values are read where they wait, and those that
/// it has removed count as removed.
final class ReadOnlySlotReader: Sendable {
  typealias Recorded = SlotHome.Recorded

  let slots: any Slots
  /// `nil` where there is none: then the values speak for themselves.
  let journal: SQLiteEngine?
  private let name: String
  private let onDamage: (@Sendable (DamageReport) -> Void)?
  private let reported = Locked<Set<SlotID>>([])

  /// How often a value is looked at that others change all the time.
  private static let attempts = 16

  init(_ slots: any Slots, _ journal: SQLiteEngine?, name: String, onDamage: (@Sendable (DamageReport) -> Void)?) {
    (self.slots, self.journal, self.name, self.onDamage) = (slots, journal, name, onDamage)
  }

  // MARK: The newest state

  /// The present value of a key; `nil` when it is absent.
  func value(_ key: StoreKey) throws -> SlotContent? {
    var seen: SlotID?
    var wasUnrecorded = false
    for _ in 0..<Self.attempts {
      if let recorded = try line(key) {
        let content = try content(.value(key), key)
        if let content, slots.matches(recorded.record, key, content) { return recorded.content(content) }
        if let content = try aside(.staged(recorded.record.id), recorded, key) {
          return recorded.content(aside: content)
        }
        // Twice the same record, and its value is nowhere: it is not on its way from one place to another.
        if seen == recorded.record.id { return try value(unlike: recorded, key, content) }
        seen = recorded.record.id
      } else {
        // Twice no record: what is there was not put there by a commit that is under way.
        if wasUnrecorded { return try unrecorded(key) }
        wasUnrecorded = true
      }
    }
    throw StorageError(
      .busy, "Somebody else is changing the value all the time.", advice: "Try again.", backend: name, key: key)
  }

  // MARK: The state of a snapshot

  /// The value of a record that may have been replaced since.
  func value(_ key: StoreKey, at recorded: Recorded) throws -> SlotContent? {
    let record = recorded.record
    if let content = try content(.value(key), key), slots.matches(record, key, content) {
      return recorded.content(content)
    }
    // A value moves from aside to its place and from there to what is kept: looking in this order cannot miss it.
    if let content = try aside(.staged(record.id), recorded, key) { return recorded.content(aside: content) }
    let content = try content(.value(key), key)
    if let content, slots.matches(record, key, content) { return recorded.content(content) }
    if let content = try aside(.retained(record.id), recorded, key) { return recorded.content(aside: content) }
    guard try line(key)?.record.id == record.id else {
      throw StorageError(
        .unavailable, "The value was replaced while the snapshot was open, where nothing can be kept for it.",
        advice: "Read again with a new snapshot.", backend: name, key: key)
    }
    return try value(unlike: recorded, key, content)
  }

  /// The value of a key that a snapshot of the journal does not have: somebody who does not know us has added it.
  func added(_ key: StoreKey) throws -> SlotContent? {
    guard try line(key) == nil else { return nil }  // A commit after the snapshot has.
    return try unrecorded(key)
  }

  // MARK: What is not as the journal says

  /// What is there in place of a record's value.
  private func value(unlike recorded: Recorded, _ key: StoreKey, _ content: SlotContent?) throws -> SlotContent? {
    let record = recorded.record
    if let content, record.loss != .none, content.version == record.id { return content }  // It was put back.
    if slots.isStillLost(record, key, content) || slots.isCopyServed {
      throw damaged("the file was damaged, and its copy has an older value or none", recorded, key, content)
    }
    if slots.isDamaged(record, content) {
      throw damaged("its checksum does not match, although nobody has edited it", recorded, key, content)
    }
    let steps = try intents(of: key)
    // The value that is there is the one before, or the new one was never in its place.
    if steps.last?.staged == record.id, content.map({ isVersion($0, of: steps, key) }) ?? true {
      throw damaged("it is gone from where it waited for being put into its place", recorded, key, content)
    }
    return content  // Somebody who does not know us has edited or removed it.
  }

  private func unrecorded(_ key: StoreKey) throws -> SlotContent? {
    guard let content = try content(.value(key), key) else { return nil }
    // What a copy has beyond the journal was removed after it was made.
    if journal != nil, slots.isCopyServed { return nil }
    let steps = try intents(of: key)
    guard let last = steps.last, last.staged == nil, isVersion(content, of: steps, key) else { return content }
    return nil  // It was removed by a writer that could not take it away any more.
  }

  /// Whether this is one of the versions that commits have replaced or removed.
  private func isVersion(_ content: SlotContent, of steps: [SlotJournal.Intent], _ key: StoreKey) -> Bool {
    steps.compactMap(\.previous).contains { previous in
      slots.matches(previous, key, content) || (previous.stamp != nil && previous.stamp == content.stamp)
    }
  }

  private func damaged(_ what: String, _ recorded: Recorded, _ key: StoreKey, _ content: SlotContent?) -> StorageError {
    if reported.withLock({ $0.insert(recorded.record.id).inserted }) {
      onDamage?(
        DamageReport(key: key, revision: recorded.revision, size: content?.data.count ?? 0, backend: name))
    }
    return StorageError(
      .damaged, "The stored value is damaged: \(what).",
      advice: "What there is of it stays where it is. Other keys are not affected.", backend: name, key: key)
  }

  // MARK: Journal and slots

  private func line(_ key: StoreKey) throws -> Recorded? {
    guard let journal else { return nil }
    return try journal.read { reader in
      try reader.withValue(key) { [name] revision, bytes in
        guard let record = SlotRecord(bytes) else { throw StorageError.damagedRecord(key, name) }
        return Recorded(revision: revision, record: record)
      }
    }
  }

  /// What commits have ordered for a key and may not have carried out.
  private func intents(of key: StoreKey) throws -> [SlotJournal.Intent] {
    guard let journal else { return [] }
    return try journal.read { try SlotJournal.intents($0.statements, of: name) }.filter { $0.key == key }
  }

  private func content(_ slot: Slot, _ key: StoreKey) throws -> SlotContent? {
    do { return try slots.read(slot) } catch let error as StorageError { throw error.locating(backend: name, key: key) }
  }

  private func aside(_ slot: Slot, _ recorded: Recorded, _ key: StoreKey) throws -> SlotContent? {
    guard let content = try content(slot, key) else { return nil }
    if let owner = content.key, owner != key { throw StorageError.anothersWaiting(key, name) }
    // What waits or is kept of a secret has the version's own name.
    return slots.keepsSecrets || recorded.record.matches(key, content.data) ? content : nil
  }
}

extension SlotHome.Recorded {
  /// What a slot holds of this version, with all that was stored with it.
  fileprivate func content(_ content: SlotContent) -> SlotContent {
    SlotContent(content.data, stamp: content.stamp, version: content.version, attributes: attributes(with: content))
  }

  /// The same for what waits or is kept.
  fileprivate func content(aside content: SlotContent) -> SlotContent {
    SlotContent(content.data, stamp: content.stamp, version: content.version, attributes: attributes(aside: content))
  }
}
