import CofferCore
import CofferLocks
import Foundation

extension SlotHome {
  /// What a look at a key has found.
  enum Finding: Sendable {
    case entry(Entry)
    case absent
    /// There is a value, and the journal knows none.
    case unrecorded
    /// The slot does not hold what the journal says: somebody who does not know us has written it.
    case differs
  }

  /// A record with the revision that wrote it.
  struct Recorded: Sendable {
    let revision: Revision
    let record: SlotRecord
  }

  /// Looks at the newest state. Takes one read of the slot when its record is known and nothing is unusual.
  func look(_ key: Key, _ store: SQLiteStore, _ quarantine: SlotQuarantine) throws -> Finding {
    let latest = store.latestRevision
    if let recorded = records.record(of: key, in: store, latest: latest),
      let content = try locating(key, { try slots.read(.value(key)) }), matches(recorded.record, key, content)
    {
      return .entry(recorded.entry(key, content.data))
    }
    var seen: SlotID?
    while true {
      guard let line = try line(key, store.readers) else {
        return try locating(key) { try slots.stamp(.value(key)) } == nil ? .absent : .unrecorded
      }
      guard case .recorded(let recorded) = line else { return .differs }
      records.keep(recorded, of: key, latest: latest)
      let content = try locating(key) { try slots.read(.value(key)) }
      if let content, matches(recorded.record, key, content) { return .entry(recorded.entry(key, content.data)) }
      if let data = try aside(.staged(recorded.record.id), key, recorded.record) {
        return .entry(recorded.entry(key, data))
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
    _ key: Key, at recorded: Recorded, _ readers: ReaderPool, _ quarantine: SlotQuarantine
  ) throws -> Data? {
    let record = recorded.record
    func inPlace() throws -> SlotContent? { try locating(key) { try slots.read(.value(key)) } }
    if let content = try inPlace(), matches(record, key, content) { return content.data }
    // A value moves from aside to its place and from there to what is kept: looking in this order cannot miss it.
    if let data = try aside(.staged(record.id), key, record) { return data }
    let content = try inPlace()
    if let content, matches(record, key, content) { return content.data }
    if let data = try aside(.retained(record.id), key, record) { return data }
    guard case .recorded(let newest)? = try line(key, readers), newest.record.id == record.id else {
      throw StorageError(
        .unavailable, "The value was replaced while the snapshot was open, and the old one could not be kept.",
        advice: "Read again with a new snapshot.", backend: name, key: key)
    }
    if isDamaged(record, content) { throw quarantine.report(key, recorded, content) }
    // Somebody who does not know us has edited it: no snapshot can hold that back.
    return content?.data
  }

  private func aside(_ slot: Slot, _ key: Key, _ record: SlotRecord) throws -> Data? {
    let content = try locating(key) { try slots.read(slot) }
    // What waits or is kept of a secret has the version's own name.
    return content.flatMap { slots.keepsSecrets || record.matches(key, $0.data) ? $0.data : nil }
  }

  private enum Line {
    case recorded(Recorded)
    /// The row is damaged; the value itself may be whole.
    case unreadable
  }

  private func line(_ key: Key, _ readers: ReaderPool) throws -> Line? {
    try readers.read { reader in
      try reader.withValue(key) { revision, bytes in
        SlotRecord(bytes).map { .recorded(Recorded(revision: revision, record: $0)) } ?? .unreadable
      }
    }
  }

  /// The record of an entry of the journal database.
  func recorded(_ entry: Entry) throws -> Recorded {
    guard let record = entry.value.withUnsafeBytes({ SlotRecord($0) }) else { throw damagedRecord(entry.key) }
    return Recorded(revision: entry.revision, record: record)
  }

  private func damagedRecord(_ key: Key) -> StorageError {
    StorageError(
      .damaged, "What the journal says of the value is damaged; the value itself may be whole.",
      advice: "Write the key again, or delete the journal: it is made anew from the values.", backend: name, key: key)
  }
}

extension SlotHome.Recorded {
  func entry(_ key: Key, _ data: Data) -> Entry { Entry(key: key, value: data, revision: revision) }
}

/// Keeps damaged bytes aside and reports each damage once.
final class SlotQuarantine: Sendable {
  private let reported = Locked<Set<SlotID>>([])
  private let home: SlotHome

  init(_ home: SlotHome) { self.home = home }

  /// - Returns: What the reader hears.
  func report(_ key: Key, _ recorded: SlotHome.Recorded, _ content: SlotContent?) -> StorageError {
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
