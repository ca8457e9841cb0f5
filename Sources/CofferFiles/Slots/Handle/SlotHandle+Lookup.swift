import CofferCore
import CofferSQLite
import Foundation

extension SlotHandle {
  /// The result of a lookup of a key.
  enum Finding: Sendable {
    case entry(StoreEntry)
    case absent
    /// There is a value but no record of it.
    case unrecorded
    /// The value does not match its record: another program has written it.
    case differs
    /// The value does not match its record, although nothing has written it.
    case damaged(Recorded, SlotContent)
    /// The newest version was lost with a damaged file, whose copy has an older version or none.
    case lost(Recorded)
  }

  /// A record with the revision that wrote it.
  struct Recorded: Sendable {
    let revision: StoreRevision
    let record: SlotRecord
  }

  /// Looks up the newest value of a key. Takes a single read of the slot if the record is cached and matches.
  func find(_ key: KeyName, _ journal: SQLiteEngine) throws -> Finding {
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
        // A value of the copy without a record was removed after the copy was made.
        return servesCopy && !hasNewJournal ? .absent : .unrecorded
      }
      guard case .recorded(let recorded) = line else { return .differs }
      records.keep(recorded, of: key, latest: latest)
      let content = try locating(key) { try slots.read(.value(key)) }
      if let content, matches(recorded.record, key, content) { return .entry(recorded.entry(key, content)) }
      if isStillLost(recorded.record, key, content) { return .lost(recorded) }
      if let content = try aside(.staged(recorded.record.id), key, recorded.record) {
        return .entry(recorded.entry(key, aside: content))
      }
      if seen == recorded.record.id {
        // The same record twice, and its value in no slot: it is not just being moved from one slot to another.
        if let content, isDamaged(recorded.record, content) { return .damaged(recorded, content) }
        return .differs
      }
      seen = recorded.record.id
    }
  }

  /// Looks up the value of a key in a snapshot, whose record may have been replaced since.
  func find(
    _ key: KeyName, at recorded: Recorded, _ journal: SQLiteEngine, _ quarantine: SlotQuarantine
  ) throws -> StoreEntry? {
    let record = recorded.record
    func current() throws -> SlotContent? { try locating(key) { try slots.read(.value(key)) } }
    if let content = try current(), matches(record, key, content) { return recorded.entry(key, content) }
    // A value moves from staged to published to retained: reading in this order cannot miss it.
    if let content = try aside(.staged(record.id), key, record) { return recorded.entry(key, aside: content) }
    let content = try current()
    if let content, matches(record, key, content) { return recorded.entry(key, content) }
    if let content = try aside(.retained(record.id), key, record) { return recorded.entry(key, aside: content) }
    guard case .recorded(let newest)? = try line(key, journal), newest.record.id == record.id else {
      throw StorageError(
        .unavailable, "The value was replaced while the snapshot was open, and the old value could not be retained.",
        advice: "Read again with a new snapshot.", location: name, key: key)
    }
    let present = try self.content(of: key)
    if isStillLost(newest.record, key, present.content) || present.isCopy { throw quarantine.reportLoss(key, recorded) }
    if isDamaged(record, content) { throw quarantine.report(key, recorded, content) }
    // Another program has edited the value; a snapshot cannot preserve the old one then.
    return content.map(\.asEdit).map { edit in
      StoreEntry(key: key, value: edit.data, revision: recorded.revision, attributes: edit.attributes)
    }
  }

  private func aside(_ slot: Slot, _ key: KeyName, _ record: SlotRecord) throws -> SlotContent? {
    guard let content = try locating(key, { try slots.read(slot) }) else { return nil }
    if let owner = content.key, owner != key {
      throw StorageError.anothersWaiting(key, name)
    }
    // The staged or retained version of a secret is identified by its name.
    return slots.keepsSecrets || record.matches(key, content.data) ? content : nil
  }

  /// The error for a value that still exists although its removal was committed.
  func stillThere(_ key: KeyName) -> StorageError {
    StorageError(
      .unfinished, "The key was removed, but its value could not be deleted and still exists.",
      advice: "The next commit tries again. Listings omit the key.", location: name, key: key)
  }

  private enum Line {
    case recorded(Recorded)
    /// A row that is damaged; the value itself may be intact.
    case unreadable
  }

  private func line(_ key: KeyName, _ journal: SQLiteEngine) throws -> Line? {
    try journal.read { reader in
      try reader.withValue(key) { revision, bytes in
        SlotRecord(bytes).map { .recorded(Recorded(revision: revision, record: $0)) } ?? .unreadable
      }
    }
  }

  /// Decodes the record in an entry of the journal database.
  func recorded(_ entry: StoreEntry) throws -> Recorded {
    guard let record = entry.value.withUnsafeBytes({ SlotRecord($0) }) else {
      throw StorageError.damagedRecord(entry.key, name)
    }
    return Recorded(revision: entry.revision, record: record)
  }
}

extension StorageError {
  static func anothersWaiting(_ key: KeyName, _ location: String) -> StorageError {
    StorageError(
      .damaged, "The staged value of this key belongs to another key.",
      advice: "Another program has changed the store's files. Restore a backup, or write the key again.",
      location: location, key: key)
  }

  static func damagedRecord(_ key: KeyName, _ location: String) -> StorageError {
    StorageError(
      .damaged, "The journal record of the value is damaged; the value itself may be intact.",
      advice: "Write the key again, or delete the journal: it is rebuilt from the values.", location: location,
      key: key)
  }
}

extension SlotHandle.Recorded {
  func entry(_ key: KeyName, _ content: SlotContent) -> StoreEntry {
    StoreEntry(key: key, value: content.data, revision: revision, attributes: attributes(with: content))
  }

  /// The entry of a staged or retained value. The attributes in its record take precedence over those in its slot.
  func entry(_ key: KeyName, aside content: SlotContent) -> StoreEntry {
    StoreEntry(key: key, value: content.data, revision: revision, attributes: attributes(aside: content))
  }

  /// The attributes stored with a published version, overridden by those that the store reports. An edit by another
  /// program leaves only the latter.
  func attributes(with content: SlotContent) -> ValueAttributes { record.attributes.merging(content.attributes) }

  /// The attributes of a staged or retained version.
  func attributes(aside content: SlotContent) -> ValueAttributes { content.attributes.merging(record.attributes) }
}
