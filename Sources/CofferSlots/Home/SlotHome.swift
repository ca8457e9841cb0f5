import CofferCore
import CofferLocks
import CofferSQLite
import Foundation

/// A home with what one open handle needs to write to it: fresh ids and a sign of life for other processes.
final class SlotHome: Sendable {
  let slots: any Slots
  /// How messages call the store.
  let name: String
  let configuration: SlotConfiguration
  let control: SlotControl
  /// Whether the journal was made anew when this handle was opened: it does not know yet what the home holds.
  let hasNewJournal: Bool
  let records = RecordCache()
  private let owner: (lock: LockFile, id: UInt64)
  private let lastNumber = Locked(UInt64(0))
  /// What was kept for snapshots and can go when none is open.
  let retained: RetainedVersions
  let snapshotSign = Locked(SharedSign())
  /// Up to which revision everything is in its place, whether or not the journal has forgotten that it was to be done.
  private let doneRevision = Locked(StoreRevision.zero)

  init(
    slots: any Slots, name: String, control: SlotControl, configuration: SlotConfiguration, hasNewJournal: Bool
  ) throws {
    self.hasNewJournal = hasNewJournal
    self.slots = slots
    self.name = name
    self.control = control
    self.configuration = configuration
    retained = RetainedVersions(bytes: configuration.retainedBytes, count: configuration.retainedCount)
    owner = try control.becomeOwner()
  }

  /// Whether another living handle has the store open, here or in another process.
  func hasNeighbours() throws -> Bool { try control.hasOwners(besides: owner.id) }

  func nextID() -> SlotID {
    lastNumber.withLock { number in
      number += 1
      return SlotID(owner: owner.id, number: number)
    }
  }

  var done: StoreRevision { doneRevision.withLock { $0 } }

  func noteDone(_ revision: StoreRevision) { doneRevision.withLock { $0 = max($0, revision) } }

  func reached(_ step: SlotStep) { configuration.atStep?(step) }

  /// Ends what only a living handle may have.
  func close() {
    discardRetained()
    owner.lock.remove()
  }

  func matches(_ record: SlotRecord, _ key: StoreKey, _ content: SlotContent) -> Bool {
    slots.matches(record, key, content)
  }

  func isDamaged(_ record: SlotRecord, _ content: SlotContent?) -> Bool { slots.isDamaged(record, content) }

  /// The record of a version, with what the home reports for it. Of a secret's value it tells nothing.
  func record(
    _ id: SlotID, _ key: StoreKey, _ content: SlotContent, _ attributes: ValueAttributes = .none
  ) -> SlotRecord {
    var record =
      slots.keepsSecrets
      ? SlotRecord(id: id, checksum: 0, size: 0, stamp: content.stamp) : SlotRecord(id: id, key: key, content: content)
    record.attributes = attributes.merging(content.attributes)
    return record
  }

  // MARK: Before the commit

  /// Puts the values of a batch aside, so that from its commit on nothing but moving them is left to do.
  /// - Returns: For each operation that stores a value its record.
  func stage(_ operations: [WriteBatch.Operation]) throws -> [SlotRecord?] {
    var records: [SlotRecord?] = []
    records.reserveCapacity(operations.count)
    do {
      try slots.checkWritable()
      for operation in operations {
        switch operation {
        case .put(let key, let data, let attributes): records.append(try stage(key, data, attributes))
        case .delete, .clear, .require, .putRecord, .deleteRecord, .requireRecord: records.append(nil)
        }
      }
      // The names of several values must survive together; one that is lost alone has simply not happened.
      if operations.count > 1, records.contains(where: { $0 != nil }) { try slots.syncStaged() }
    } catch let error as StorageError {
      discard(records)
      throw error.locating(backend: name)
    }
    return records
  }

  private func stage(_ key: StoreKey, _ data: Data, _ attributes: ValueAttributes) throws -> SlotRecord {
    try locating(key) {
      try slots.prepare(key)
      let id = nextID()
      let reported = try slots.attributes(staging: data, for: key, attributes: attributes)
      let stamp = try slots.stage(data, as: id, for: key, attributes: attributes)
      reached(.staged)
      return record(id, key, SlotContent(data, stamp: stamp, version: id, attributes: reported), attributes)
    }
  }

  /// Removes what was put aside for a batch that was not committed.
  func discard(_ records: [SlotRecord?]) {
    // What cannot be removed now is found by the next open. A home that is away is not asked for each of them: that
    // would take a deadline each.
    for record in records.compactMap({ $0 }) {
      do { try slots.delete(.staged(record.id)) } catch { if error.isAbsence { return } }
    }
  }

  /// What a question to the home gives; `nil` when it cannot be asked now.
  func ifAvailable<R>(_ body: () throws -> R) throws -> R? {
    do { return try body() } catch let error as StorageError where error.code == .unavailable { return nil }
  }

  /// Says of an error which store and key it is about.
  func locating<R>(_ key: StoreKey, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as StorageError { throw error.locating(backend: name, key: key) }
  }
}

extension Slots {
  /// Whether a slot holds the version of a record.
  func matches(_ record: SlotRecord, _ key: StoreKey, _ content: SlotContent) -> Bool {
    guard keepsSecrets else { return record.matches(key, content.data) }
    guard record.loss == .none else { return false }
    return record.stamp.map { $0 == content.stamp } ?? (record.id == content.version)
  }

  /// Whether bytes that do not match their record are damage: by its stamp, nobody has touched the slot.
  func isDamaged(_ record: SlotRecord, _ content: SlotContent?) -> Bool {
    guard let recorded = record.stamp, let stamp = content?.stamp else { return false }
    return isUntouched(stamp, since: recorded)
  }
}

extension Error {
  /// Whether the next question to the home would fail, too, after as long a wait.
  var isAbsence: Bool {
    let code = (self as? StorageError)?.code
    return code == .unavailable || code == .outcomeUnknown
  }
}
