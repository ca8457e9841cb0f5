import CofferCore
import CofferSQLite
import Foundation

/// An open handle on a store in slots, with the state that it needs to write: unused version ids, and the owner lock
/// that shows other processes that it is alive. One that is open for reading only takes no lock.
final class SlotHandle: Sendable {
  let slots: any Slots
  /// The name of the store in error messages.
  let name: String
  let configuration: SlotEngine.Configuration
  let control: SlotControl
  /// Whether the journal was created when this handle was opened and may not have a record of every value yet, or is
  /// missing and cannot be created.
  let hasNewJournal: Bool
  let records = RecordCache()
  private let owner: (lock: LockFile?, id: UInt64)
  private let lastNumber = Locked(UInt64(0))
  /// Whether this handle has noted that values have attributes that must not be lost.
  private let hasNotedAttributes = Locked(false)
  /// The versions retained for snapshots, which are removed once none is open.
  let retained: RetainedVersions
  let snapshotSign = Locked(SharedSign())
  /// The revision up to which everything is published, whether or not the journal still lists the intents.
  private let doneRevision = Locked(StoreRevision.zero)

  init(
    slots: any Slots, name: String, control: SlotControl, configuration: SlotEngine.Configuration, hasNewJournal: Bool,
    isReadOnly: Bool = false
  ) throws {
    self.hasNewJournal = hasNewJournal
    self.slots = slots
    self.name = name
    self.control = control
    self.configuration = configuration
    retained = RetainedVersions(bytes: configuration.retainedBytes, count: configuration.retainedCount)
    owner = isReadOnly ? (nil, 0) : try control.becomeOwner()
  }

  var isReadOnly: Bool { owner.lock == nil }

  /// Whether another living handle has the store open, in this or another process.
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

  /// Removes the retained values and the owner lock.
  func close() {
    discardRetained()
    owner.lock?.remove()
  }

  func matches(_ record: SlotRecord, _ key: KeyName, _ content: SlotContent) -> Bool {
    slots.matches(record, key, content)
  }

  func isDamaged(_ record: SlotRecord, _ content: SlotContent?) -> Bool { slots.isDamaged(record, content) }

  /// Returns the record of a version. That of a secret has neither checksum nor size.
  func record(
    _ id: SlotID, _ key: KeyName, _ content: SlotContent, _ attributes: ValueAttributes = .none
  ) -> SlotRecord {
    var record =
      slots.keepsSecrets
      ? SlotRecord(id: id, checksum: 0, size: 0, stamp: content.stamp) : SlotRecord(id: id, key: key, content: content)
    record.attributes = attributes.merging(content.attributes)
    return record
  }

  // MARK: Before the commit

  /// Stages the values of a batch, so that after the commit they only have to be moved.
  /// - Returns: A record for each operation; `nil` for those that store no value.
  func stage(_ operations: [WriteBatch.Operation]) throws -> [SlotRecord?] {
    var records: [SlotRecord?] = []
    records.reserveCapacity(operations.count)
    do {
      try slots.prepare(operations.compactMap { if case .put(let key, _, _) = $0 { key } else { nil } })
      for operation in operations {
        switch operation {
        case .put(let key, let data, let attributes):
          if attributes.mustNotBeLost, !hasNotedAttributes.withLock({ $0 }) {
            try control.noteAttributes()
            hasNotedAttributes.withLock { $0 = true }
          }
          records.append(try stage(key, data, attributes))
        case .delete, .clear, .require, .putRecord, .deleteRecord, .requireRecord: records.append(nil)
        }
      }
      // Several values must survive together. A single value that is lost was simply never committed.
      let versions = records.compactMap { $0?.id }
      if !versions.isEmpty { try slots.sync(.staged(versions, isAlone: !operations.syncStagedNames)) }
    } catch let error as StorageError {
      discard(records)
      throw error.locating(at: name)
    }
    return records
  }

  private func stage(_ key: KeyName, _ data: Data, _ attributes: ValueAttributes) throws -> SlotRecord {
    try locating(key) {
      let id = nextID()
      let content = try slots.write(data, to: .staged(id), of: key, attributes: attributes)
      reached(.staged)
      return record(id, key, content, attributes)
    }
  }

  /// Removes the staged values of a batch that was not committed.
  func discard(_ records: [SlotRecord?]) {
    // The next open removes what stays behind. In an unavailable store each further call would wait for a timeout.
    for record in records.compactMap({ $0 }) {
      do { try slots.delete(.staged(record.id)) } catch { if error.isAbsence { return } }
    }
  }

  /// Returns the result of a closure, or `nil` if the store is unavailable.
  func ifAvailable<R>(_ body: () throws -> R) throws -> R? {
    do { return try body() } catch let error as StorageError where error.code == .unavailable { return nil }
  }

  /// Adds the store and the key to the errors that a closure throws.
  func locating<R>(_ key: KeyName, _ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as StorageError { throw error.locating(at: name, key: key) }
  }
}

extension [WriteBatch.Operation] {
  /// Whether the names of the staged values are synced before the commit: those of a batch of several changes are.
  var syncStagedNames: Bool { lazy.filter(\.isChange).dropFirst().first != nil }
}

extension WriteBatch.Operation {
  /// Whether the operation is more than a precondition.
  var isChange: Bool {
    switch self {
    case .put, .delete, .clear, .putRecord, .deleteRecord: true
    case .require, .requireRecord: false
    }
  }

  /// Whether the operation removes values.
  var isRemoval: Bool {
    switch self {
    case .delete, .clear: true
    case .put, .require, .putRecord, .deleteRecord, .requireRecord: false
    }
  }
}

extension ValueAttributes {
  /// Whether a value without these attributes would be read in spite of its expiry, or migrated again.
  fileprivate var mustNotBeLost: Bool {
    !isEmpty && (expires != nil || self[.schema] != nil)
  }
}

extension Slots {
  /// Whether a slot holds the version of a record.
  func matches(_ record: SlotRecord, _ key: KeyName, _ content: SlotContent) -> Bool {
    guard keepsSecrets else { return record.matches(key, content.data) }
    guard record.loss == .none else { return false }
    return record.stamp.map { $0 == content.stamp } ?? (record.id == content.version)
  }

  /// Whether bytes that do not match their record are damaged: the stamp shows that the slot was not written since.
  func isDamaged(_ record: SlotRecord, _ content: SlotContent?) -> Bool {
    guard let recorded = record.stamp, let stamp = content?.stamp else { return false }
    return stamp.isUntouched(since: recorded)
  }
}

extension Error {
  /// Whether the next call to the store would fail as well, after another timeout.
  var isAbsence: Bool {
    let code = (self as? StorageError)?.code
    return code == .unavailable || code == .outcomeUnknown
  }
}
