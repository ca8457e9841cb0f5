import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

extension SlotHome {
  /// What a look at a key has found.
  enum Finding: Sendable {
    case entry(StoreEntry)
    case absent
    /// There is a value, and the journal knows none.
    case unrecorded
    /// The slot does not hold what the journal says: somebody who does not know us has written it.
    case differs
  }

  /// A record with the revision that wrote it.
  struct Recorded: Sendable {
    let revision: StoreRevision
    let record: SlotRecord
  }

  /// Looks at the newest state. Takes one read of the slot when its record is known and nothing is unusual.
  func look(_ key: StoreKey, _ journal: SQLiteEngine, _ quarantine: SlotQuarantine) throws -> Finding {
    let latest = journal.latestRevision
    if let recorded = records.record(of: key, in: journal, latest: latest),
      let content = try locating(key, { try slots.read(.value(key)) }), matches(recorded.record, key, content)
    {
      return .entry(recorded.entry(key, content))
    }
    var seen: SlotID?
    while true {
      guard let line = try line(key, journal) else {
        guard try locating(key, { try slots.stamp(.value(key)) }) != nil else { return .absent }
        // What a copy has beyond the journal was removed after it was made.
        return servesCopy && !hasNewJournal ? .absent : .unrecorded
      }
      guard case .recorded(let recorded) = line else { return .differs }
      records.keep(recorded, of: key, latest: latest)
      let content = try locating(key) { try slots.read(.value(key)) }
      if let content, matches(recorded.record, key, content) { return .entry(recorded.entry(key, content)) }
      if isStillLost(recorded.record, key, content) { throw quarantine.reportLoss(key, recorded) }
      if let content = try aside(.staged(recorded.record.id), key, recorded.record) {
        return .entry(recorded.entry(key, aside: content))
      }
      if seen == recorded.record.id {
        // Twice the same record, and its value is nowhere: it is not on its way from one place to another.
        if isDamaged(recorded.record, content) { throw quarantine.report(key, recorded, content) }
        return .differs
      }
      seen = recorded.record.id
    }
  }

  /// Looks at the state of a snapshot, whose record may have been replaced since.
  func look(
    _ key: StoreKey, at recorded: Recorded, _ journal: SQLiteEngine, _ quarantine: SlotQuarantine
  ) throws -> StoreEntry? {
    let record = recorded.record
    func inPlace() throws -> SlotContent? { try locating(key) { try slots.read(.value(key)) } }
    if let content = try inPlace(), matches(record, key, content) { return recorded.entry(key, content) }
    // A value moves from aside to its place and from there to what is kept: looking in this order cannot miss it.
    if let content = try aside(.staged(record.id), key, record) { return recorded.entry(key, aside: content) }
    let content = try inPlace()
    if let content, matches(record, key, content) { return recorded.entry(key, content) }
    if let content = try aside(.retained(record.id), key, record) { return recorded.entry(key, aside: content) }
    guard case .recorded(let newest)? = try line(key, journal), newest.record.id == record.id else {
      throw StorageError(
        .unavailable, "The value was replaced while the snapshot was open, and the old one could not be kept.",
        advice: "Read again with a new snapshot.", backend: name, key: key)
    }
    let present = try place(of: key)
    if isStillLost(newest.record, key, present.content) || present.isCopy { throw quarantine.reportLoss(key, recorded) }
    if isDamaged(record, content) { throw quarantine.report(key, recorded, content) }
    // Somebody who does not know us has edited it: no snapshot can hold that back.
    return content.map { StoreEntry(key: key, value: $0.data, revision: recorded.revision, attributes: $0.attributes) }
  }

  private func aside(_ slot: Slot, _ key: StoreKey, _ record: SlotRecord) throws -> SlotContent? {
    guard let content = try locating(key, { try slots.read(slot) }) else { return nil }
    if let owner = content.key, owner != key {
      throw StorageError.anothersWaiting(key, name)
    }
    // What waits or is kept of a secret has the version's own name.
    return slots.keepsSecrets || record.matches(key, content.data) ? content : nil
  }

  /// What to say of a value that was removed and is still in its place.
  func stillThere(_ key: StoreKey) -> StorageError {
    StorageError(
      .unfinished, "The key was removed, but its value could not be taken away and is still in its place.",
      advice: "The next commit tries again. Listings do not have the key.", backend: name, key: key)
  }

  private enum Line {
    case recorded(Recorded)
    /// The row is damaged; the value itself may be whole.
    case unreadable
  }

  private func line(_ key: StoreKey, _ journal: SQLiteEngine) throws -> Line? {
    try journal.read { reader in
      try reader.withValue(key) { revision, bytes in
        SlotRecord(bytes).map { .recorded(Recorded(revision: revision, record: $0)) } ?? .unreadable
      }
    }
  }

  /// The record of an entry of the journal database.
  func recorded(_ entry: StoreEntry) throws -> Recorded {
    guard let record = entry.value.withUnsafeBytes({ SlotRecord($0) }) else {
      throw StorageError.damagedRecord(entry.key, name)
    }
    return Recorded(revision: entry.revision, record: record)
  }
}

extension StorageError {
  static func anothersWaiting(_ key: StoreKey, _ backend: String) -> StorageError {
    StorageError(
      .damaged, "A value of another key was put where the value of this key is kept until it is in its place.",
      advice: "Somebody has changed the files of the store. Restore a backup, or write the key again.",
      backend: backend, key: key)
  }

  static func damagedRecord(_ key: StoreKey, _ backend: String) -> StorageError {
    StorageError(
      .damaged, "What the journal says of the value is damaged; the value itself may be whole.",
      advice: "Write the key again, or delete the journal: it is made anew from the values.", backend: backend, key: key
    )
  }
}

extension SlotQuarantine {
  /// - Returns: What the reader of a value hears whose newest version is lost with the home.
  func reportLoss(_ key: StoreKey, _ recorded: SlotHome.Recorded) -> StorageError {
    tell(DamageReport(key: key, revision: recorded.revision, size: 0, backend: name), of: recorded.record.id)
    return StorageError(
      .damaged,
      "The newest value is lost: the file was damaged, and the copy that took its place has an older value or none.",
      advice: "Put a backup of the file in its place, or write the key again. The damaged bytes are in the quarantine.",
      backend: name, key: key)
  }
}

extension SlotHome.Recorded {
  func entry(_ key: StoreKey, _ content: SlotContent) -> StoreEntry {
    StoreEntry(key: key, value: content.data, revision: revision, attributes: attributes(with: content))
  }

  /// The entry of a value that waits or is kept: what the home reports for it counts only once it is in its place.
  func entry(_ key: StoreKey, aside content: SlotContent) -> StoreEntry {
    StoreEntry(key: key, value: content.data, revision: revision, attributes: attributes(aside: content))
  }

  /// What was stored with the version, and what the home says of it. An edit by others leaves the latter only.
  func attributes(with content: SlotContent) -> ValueAttributes { record.attributes.merging(content.attributes) }

  /// The same for a value that waits or is kept.
  func attributes(aside content: SlotContent) -> ValueAttributes { content.attributes.merging(record.attributes) }
}

/// Keeps damaged bytes aside and reports each damage once.
final class SlotQuarantine: Sendable {
  private let reported = Locked<Set<SlotID>>([])
  private let home: SlotHome

  init(_ home: SlotHome) { self.home = home }

  var name: String { home.name }

  /// Reports a damage, once.
  func tell(_ report: DamageReport, of id: SlotID) {
    if reported.withLock({ $0.insert(id).inserted }) { home.configuration.onDamage?(report) }
  }

  /// - Returns: What the reader hears.
  func report(_ key: StoreKey, _ recorded: SlotHome.Recorded, _ content: SlotContent?) -> StorageError {
    let id = recorded.record.id
    let isFirst = reported.withLock { $0.insert(id).inserted }
    var isKept = true
    if isFirst, let content {
      do {
        _ = try home.slots.write(content.data, to: .quarantined(id))
      } catch {
        isKept = false
        reported.withLock { _ = $0.remove(id) }  // The next reader tries again.
      }
      home.configuration.onDamage?(
        DamageReport(key: key, revision: recorded.revision, size: content.data.count, backend: home.name))
    }
    return StorageError(
      .damaged, "The stored value is damaged: its checksum does not match, although nobody has edited it.",
      advice: isKept
        ? "Its bytes were kept in the quarantine as \(id); write the key again to go on. Other keys are not affected."
        : "Copy it before you write the key again: its bytes could not be kept. Other keys are not affected.",
      backend: home.name, key: key)
  }
}
