import CofferCore
import CofferSQLite
import Foundation

extension SlotStore {
  typealias Recorded = SlotHandle.Recorded

  /// The result of a lookup of a key.
  enum Finding: Sendable {
    case entry(StoreEntry)
    case absent
    /// There is a value but no record of it.
    case unrecorded
    /// The value does not match its record: another program has written it. The record is `nil` if its row is damaged.
    case differs(Recorded?)
    /// The value does not match its record, although nothing has written it.
    case damaged(Recorded, SlotContent)
    /// The newest version was lost with a damaged file, whose copy has an older version or none.
    case lost(Recorded)
  }

  /// Returns the entry that was found, or throws the error of a damaged value. That of a read-only store has no
  /// revision.
  func entry(_ finding: Finding, of key: KeyName) throws -> StoreEntry? {
    switch finding {
    case .entry(let entry):
      guard writer == nil else { return entry }
      return StoreEntry(key: key, value: entry.value, revision: .zero, attributes: entry.attributes)
    case .damaged(let recorded, let content): throw quarantine.report(key, recorded, content)
    case .lost(let recorded): throw quarantine.reportLoss(key, recorded)
    case .absent, .differs, .unrecorded: return nil
    }
  }

  /// Looks up the newest value of a key. Takes a single read of the slot if the record is cached and matches.
  func find(_ key: KeyName) throws -> Finding {
    // Without a writer, learning the newest revision takes as long as reading the record.
    let latest = writer?.journal.latestRevision
    if let latest, let journal, let recorded = handle.records.record(of: key, in: journal, latest: latest),
      let content = try current(key), handle.matches(recorded.record, key, content)
    {
      return .entry(recorded.entry(key, content))
    }
    var seen: SlotID?
    while true {
      guard let line = try line(key) else {
        guard try handle.locating(key, { try slots.stamp(.value(key)) }) != nil else { return .absent }
        // A value of the copy without a record was removed after the copy was made.
        return handle.servesCopy && !handle.hasNewJournal ? .absent : .unrecorded
      }
      guard case .recorded(let recorded) = line else { return .differs(nil) }
      if let latest { handle.records.keep(recorded, of: key, latest: latest) }
      let content = try current(key)
      if let content, handle.matches(recorded.record, key, content) { return .entry(recorded.entry(key, content)) }
      if handle.isStillLost(recorded.record, key, content) { return .lost(recorded) }
      if let content = try aside(.staged(recorded.record.id), key, recorded.record) {
        return .entry(recorded.entry(key, aside: content))
      }
      if seen == recorded.record.id {
        // The same record twice, and its value in no slot: it is not just being moved from one slot to another.
        if let content, handle.isDamaged(recorded.record, content) { return .damaged(recorded, content) }
        return .differs(recorded)
      }
      seen = recorded.record.id
    }
  }

  /// Looks up the value of a key in a snapshot, whose record may have been replaced since.
  func find(_ key: KeyName, at recorded: Recorded) throws -> Finding {
    let record = recorded.record
    if let content = try current(key), handle.matches(record, key, content) {
      return .entry(recorded.entry(key, content))
    }
    // A value moves from staged to published to retained: reading in this order cannot miss it.
    if let content = try aside(.staged(record.id), key, record) { return .entry(recorded.entry(key, aside: content)) }
    if let content = try current(key), handle.matches(record, key, content) {
      return .entry(recorded.entry(key, content))
    }
    if let content = try aside(.retained(record.id), key, record) {
      return .entry(recorded.entry(key, aside: content))
    }
    if let finding = try resolve(recorded, of: key) { return finding }
    throw StorageError(
      .unavailable, "The value was replaced while the snapshot was open, and the old value could not be retained.",
      advice: "Read again with a new snapshot.", location: description, key: key)
  }

  private func current(_ key: KeyName) throws -> SlotContent? {
    try handle.locating(key) { try slots.read(.value(key)) }
  }

  private func aside(_ slot: Slot, _ key: KeyName, _ record: SlotRecord) throws -> SlotContent? {
    guard let content = try handle.locating(key, { try slots.read(slot) }) else { return nil }
    if let owner = content.key, owner != key {
      throw StorageError(
        .damaged, "The staged value of this key belongs to another key.",
        advice: "Another program has changed the store's files. Restore a backup, or write the key again.",
        location: description, key: key)
    }
    // The staged or retained version of a secret is identified by its name.
    return slots.keepsSecrets || record.matches(key, content.data) ? content : nil
  }

  // MARK: Without recording edits

  /// Looks up the newest value of a key in a store without a writer, which cannot record what others have edited.
  func findUnrecorded(_ key: KeyName) throws -> Finding {
    for _ in 0..<Self.attempts {
      switch try find(key) {
      case .differs(nil): throw StorageError.damagedRecord(key, description)
      case .differs(let recorded?): if let finding = try resolve(recorded, of: key) { return finding }
      case .unrecorded: if let finding = try resolveUnrecorded(key) { return finding }
      case let finding: return finding
      }
    }
    throw StorageError.keepsChanging(key, description)
  }

  /// Determines what became of a version that is in no slot.
  /// - Returns: `nil` if its record was replaced meanwhile.
  private func resolve(_ recorded: Recorded, of key: KeyName) throws -> Finding? {
    let (content, isCopy) = try handle.content(of: key)
    guard case .recorded(let newest)? = try line(key), newest.record.id == recorded.record.id else { return nil }
    let record = newest.record
    if let content, record.loss != .none, content.version == record.id {  // It was restored.
      return .entry(newest.entry(key, content))
    }
    if isCopy || handle.isStillLost(record, key, content) { return .lost(newest) }
    if let content, handle.isDamaged(record, content) { return .damaged(newest, content) }
    let steps = try intents(of: key)
    // The slot holds the previous value: the new one was never published.
    if steps.last?.staged == record.id, content.map({ isVersion($0, of: steps, key) }) ?? true {
      throw quarantine.reportUnkept("it was committed, but its staged value is missing", key, newest, content)
    }
    return content.map { .entry(edit($0, of: key, newest.revision)) } ?? .absent
  }

  /// Determines what a value without a record is.
  /// - Returns: `nil` if it has a record by now.
  func resolveUnrecorded(_ key: KeyName) throws -> Finding? {
    // Before the value, since the intent to remove a value outlives it.
    let steps = try intents(of: key)
    let (content, isCopy) = try handle.content(of: key)
    guard try line(key) == nil else { return nil }
    guard let content else { return .absent }
    // A value of the copy without a record was removed after the copy was made.
    if isCopy, !handle.hasNewJournal { return .absent }
    // It was removed by a commit that is not rolled forward.
    if let last = steps.last, last.staged == nil, isVersion(content, of: steps, key) { return .absent }
    return .entry(edit(content, of: key, .zero))
  }

  private func edit(_ content: SlotContent, of key: KeyName, _ revision: StoreRevision) -> StoreEntry {
    let edit = content.asEdit
    return StoreEntry(key: key, value: edit.data, revision: revision, attributes: edit.attributes)
  }

  /// Whether the content is one of the versions that commits have replaced or removed.
  private func isVersion(_ content: SlotContent, of steps: [SlotJournal.Intent], _ key: KeyName) -> Bool {
    steps.compactMap(\.previous).contains { previous in
      handle.matches(previous, key, content) || (previous.stamp != nil && previous.stamp == content.stamp)
    }
  }

  // MARK: The journal

  /// Returns the committed changes of a key that may not have been published.
  private func intents(of key: KeyName) throws -> [SlotJournal.Intent] {
    guard let journal else { return [] }
    return try journal.read { try SlotJournal.intents($0.statements, of: description) }.filter { $0.key == key }
  }

  private enum Line {
    case recorded(Recorded)
    /// A row that is damaged; the value itself may be intact.
    case unreadable
  }

  private func line(_ key: KeyName) throws -> Line? {
    guard let journal else { return nil }
    return try journal.read { reader in
      try reader.withValue(key) { revision, bytes in
        SlotRecord(bytes).map { .recorded(Recorded(revision: revision, record: $0)) } ?? .unreadable
      }
    }
  }
}

extension SlotHandle {
  /// A record with the revision that wrote it.
  struct Recorded: Sendable {
    let revision: StoreRevision
    let record: SlotRecord
  }

  /// Decodes the record in an entry of the journal database.
  func recorded(_ entry: StoreEntry) throws -> Recorded {
    guard let record = entry.value.withUnsafeBytes({ SlotRecord($0) }) else {
      throw StorageError.damagedRecord(entry.key, name)
    }
    return Recorded(revision: entry.revision, record: record)
  }

  /// The error for a value that still exists although its removal was committed.
  func stillThere(_ key: KeyName) -> StorageError {
    StorageError(
      .unfinished, "The key was removed, but its value could not be deleted and still exists.",
      advice: "The next commit tries again. Listings omit the key.", location: name, key: key)
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

extension StorageError {
  static func damagedRecord(_ key: KeyName, _ location: String) -> StorageError {
    StorageError(
      .damaged, "The journal record of the value is damaged; the value itself may be intact.",
      advice: "Write the key again, or delete the journal: it is rebuilt from the values.", location: location,
      key: key)
  }

  static func keepsChanging(_ key: KeyName, _ location: String) -> StorageError {
    StorageError(
      .busy, "Another process keeps changing the value.", advice: "Try again.", location: location, key: key)
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
