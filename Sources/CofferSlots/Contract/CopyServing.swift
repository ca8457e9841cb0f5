import CofferCore
import CofferSQLite
import Foundation

/// A home that keeps a copy of itself, which serves while the home is damaged.
///
/// The copy can be older than what the journal has acknowledged. Then a value that is not the recorded version was not
/// edited by anybody: its newest version is lost.
package protocol CopyServing: Slots {
  /// Whether values come from the copy now.
  var servesCopy: Bool { get }

  /// Lets the home be written anew from its copy: the journal knows now which values that loses.
  func acceptCopy()
}

/// A home that can make sure of the room that a commit will take.
package protocol RoomReserving: Slots {
  /// Makes sure of the room that it takes to put these versions into their places. Called before they are committed,
  /// under the write lock of the journal, with all that wait.
  /// - Throws: `diskFull`; then nothing is kept for it.
  func reserve(placing staged: [SlotID]) throws

  /// Whether there is room that was made sure of and not used.
  var hasRoom: Bool { get }

  /// Gives back the room, since nothing was committed.
  func release()
}

/// A home that can be examined beyond its values.
package protocol Examinable: Slots {
  /// What is damaged besides single values, a sentence each.
  func problems() throws -> [String]
}

extension SlotEngine {
  /// What is damaged of the home besides single values, a sentence each. Changes nothing.
  package func problems() async throws -> [String] {
    guard let slots = slots as? any Examinable else { return [] }
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try slots.problems() }) }
    }
  }
}

extension SlotHome {
  /// Gives back the room for a commit that did not happen, unless another commit needs it.
  func releaseRoom(_ committer: GroupCommitter) throws {
    guard let slots = slots as? any RoomReserving, slots.hasRoom else { return }
    try committer.housekeep {
      if try SlotJournal.intents(committer.statements, of: name).allSatisfy({ $0.revision <= done }) { slots.release() }
    }
  }

  /// Whether values come from a copy now, because the home is damaged.
  var servesCopy: Bool { slots.isCopyServed }

  /// What is in the place of a key, and whether it may come from a copy.
  func place(of key: StoreKey) throws -> (content: SlotContent?, isCopy: Bool) {
    // Asked on both sides: the home can be damaged in between.
    let before = servesCopy
    let content = try locating(key) { try slots.read(.value(key)) }
    return (content, before || servesCopy)
  }

  /// Has the journal say which values are lost with the home, before the home is written anew from its copy.
  ///
  /// What the journal does not know was removed after the copy was made, and is removed from it, too.
  func acknowledgeCopy(_ committer: GroupCommitter) throws {
    guard let slots = slots as? any CopyServing, slots.servesCopy else { return }
    let waiting = Set(try SlotJournal.intents(committer.statements, of: name).map(\.key))
    var known: Set<StoreKey> = []
    for (key, record) in try SlotJournal.records(committer) {
      known.insert(key)
      guard !waiting.contains(key), let record else { continue }
      let content = try locating(key) { try slots.read(.value(key)) }
      if let lost = self.record(record, lostIn: content, key) { try SlotJournal.note(lost, key, committer) }
    }
    if !hasNewJournal {
      for case .value(let key) in try slots.list() where !known.contains(key) && !waiting.contains(key) {
        try slots.delete(.value(key))
      }
    }
    slots.acceptCopy()
  }

  /// What to record of a version that a copy does not have; `nil` when there is nothing new to record.
  func record(_ record: SlotRecord, lostIn content: SlotContent?, _ key: StoreKey) -> SlotRecord? {
    if let content, matches(record, key, content) { return nil }
    guard !isStillLost(record, key, content) else { return nil }
    return self.record(record.id, key, content ?? SlotContent(Data()), record.attributes).lost(
      content == nil ? .missing : .older)
  }

  func isStillLost(_ record: SlotRecord, _ key: StoreKey, _ content: SlotContent?) -> Bool {
    slots.isStillLost(record, key, content)
  }
}

extension Slots {
  /// Whether values come from a copy now, because the home is damaged.
  var isCopyServed: Bool { (self as? any CopyServing)?.servesCopy ?? false }

  /// Whether the place of a value that was lost is as it was when that was found.
  func isStillLost(_ record: SlotRecord, _ key: StoreKey, _ content: SlotContent?) -> Bool {
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
