import CofferCore
import CofferSQLite
import Foundation

/// A store that keeps a copy of its contents and serves reads from it while the original is damaged.
///
/// The copy can be older than the last acknowledged commit. A value in it that does not match its record was therefore
/// not edited: its newest version is lost.
package protocol CopyServing: Slots {
  /// Whether reads are currently served from the copy.
  var servesCopy: Bool { get }

  /// Allows the store to be rewritten from its copy. Call it once the journal records which values that loses.
  func acceptCopy()

  /// Makes the copy whole again if a kill or a power loss has left it torn. Called when the store is opened, under the
  /// write lock of the journal.
  func repairCopy() throws
}

/// A store whose structure can be checked apart from its values.
package protocol Examinable: Slots {
  /// Returns a sentence for each kind of damage that does not concern a single value.
  func problems() throws -> [String]
}

extension SlotEngine {
  /// Returns a sentence for each damage of the store that does not concern a single value. Changes nothing.
  package func problems() async throws -> [String] {
    guard let slots = slots as? any Examinable else { return [] }
    return try await runBlocking { try slots.problems() }
  }
}

extension SlotHandle {
  /// Makes the copy of the store whole again, if it has one.
  func repairCopy(_ committer: GroupCommitter) throws {
    guard let slots = slots as? any CopyServing else { return }
    try committer.housekeep { try slots.repairCopy() }
  }

  /// Whether reads are currently served from a copy because the store is damaged.
  var servesCopy: Bool { slots.isCopyServed }

  /// Returns the content of a key's value slot, and whether it may come from a copy.
  func content(of key: KeyName) throws -> (content: SlotContent?, isCopy: Bool) {
    // Checked before and after the read: the store can be damaged in between.
    let before = servesCopy
    let content = try locating(key) { try slots.read(.value(key)) }
    return (content, before || servesCopy)
  }

  /// Records in the journal which values are lost, before a damaged store is rewritten from its copy.
  ///
  /// A value without a record was removed after the copy was made; it is removed from the copy as well.
  func acknowledgeCopy(_ committer: GroupCommitter) throws {
    guard let slots = slots as? any CopyServing, slots.servesCopy else { return }
    let waiting = Set(try SlotJournal.intents(committer.statements, of: name).map(\.key))
    var known: Set<KeyName> = []
    for (key, record) in try SlotJournal.records(committer) {
      known.insert(key)
      guard !waiting.contains(key), let record else { continue }
      let content = try locating(key) { try slots.read(.value(key)) }
      if let lost = self.record(record, lostIn: content, key) { try SlotJournal.note(lost, key, committer) }
    }
    if !hasNewJournal {
      for key in try slots.list().compactMap(\.key) where !known.contains(key) && !waiting.contains(key) {
        try slots.delete(.value(key))
      }
    }
    slots.acceptCopy()
  }

  /// The record of a version that is missing from the copy, or `nil` when there is nothing new to record.
  func record(_ record: SlotRecord, lostIn content: SlotContent?, _ key: KeyName) -> SlotRecord? {
    if let content, matches(record, key, content) { return nil }
    guard !isStillLost(record, key, content) else { return nil }
    return self.record(record.id, key, content ?? SlotContent(Data()), record.attributes).lost(
      content == nil ? .missing : .older)
  }

  func isStillLost(_ record: SlotRecord, _ key: KeyName, _ content: SlotContent?) -> Bool {
    slots.isStillLost(record, key, content)
  }
}

extension Slots {
  /// Whether reads are currently served from a copy because the store is damaged.
  var isCopyServed: Bool { (self as? any CopyServing)?.servesCopy ?? false }

  /// Whether the slot of a lost value is unchanged since the loss was recorded.
  func isStillLost(_ record: SlotRecord, _ key: KeyName, _ content: SlotContent?) -> Bool {
    switch record.loss {
    case .none: return false
    case .missing: return content == nil
    case .older:
      guard let content else { return false }
      if keepsSecrets, let stamp = record.stamp { return stamp == content.stamp }
      return record.describes(key, content.data)
    }
  }
}
