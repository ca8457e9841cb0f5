import CofferCore
import Foundation

extension SlotHome {
  /// Puts everything that was committed into its place, whoever committed it: a writer that was killed in between
  /// leaves it to the next. Doing it twice does no harm.
  ///
  /// Runs on the writer's thread and under the write lock of the journal, so that no two processes do it at once.
  /// - Parameter resume: called when all is in its place and has survived power loss, with what could not be put into
  ///   its place: it stays committed, readable, and is tried again with the next commit.
  func publish(_ committer: GroupCommitter, resume: ([Key: StorageError]) -> Void = { _ in }) throws {
    reached(.committed)
    var isPublished = false
    do {
      try committer.housekeep { _ in
        let intents = try SlotJournal.intents(committer)
        let failures = try place(intents, committer)
        isPublished = true
        resume(failures)
        try SlotJournal.forget(intents, except: Set(failures.keys), committer)
      }
    } catch let error as StorageError where isPublished && error.code != .outcomeUnknown {
      // All is in its place; only that the journal still lists it, which the next commit mends.
    }
    reached(.finished)
    discardRetained()
  }

  private func place(_ intents: [SlotJournal.Intent], _ committer: GroupCommitter) throws -> [Key: StorageError] {
    guard !intents.isEmpty else { return [:] }
    var failures: [Key: StorageError] = [:]
    let mustRetain = control.hasSnapshots
    // Only the last intent of a key is carried out: whoever does all of this again after a kill would find the last
    // value in its place already, and remove it for a deletion that came before it.
    let last = Dictionary(intents.map { ($0.key, $0.position) }) { $1 }
    var begun: Set<Key> = []
    for intent in intents where failures[intent.key] == nil {
      do {
        try locating(intent.key) {
          if mustRetain, begun.insert(intent.key).inserted, let previous = intent.previous {
            try retain(intent.key, previous)
          }
          guard last[intent.key] == intent.position else { return try passOver(intent, mustRetain: mustRetain) }
          try place(intent, committer)
        }
      } catch let error as StorageError {
        failures[intent.key] = waiting(error, key: intent.key)
      }
    }
    try syncPlaces()
    reached(.synced)
    return failures
  }

  private func place(_ intent: SlotJournal.Intent, _ committer: GroupCommitter) throws {
    if let staged = intent.staged {
      do {
        let stamp = try slots.move(.staged(staged), to: .value(intent.key))
        if let stamp { try SlotJournal.note(stamp, of: staged, intent.key, committer) }
      } catch let error as StorageError where error.code == .notFound {
        // Somebody who was killed afterwards has moved it. Whether the right bytes are there is for readers to see.
      }
    } else {
      try slots.delete(.value(intent.key))
    }
    reached(.placed)
  }

  /// A value that was replaced before it came to its place: only a snapshot may still read it.
  private func passOver(_ intent: SlotJournal.Intent, mustRetain: Bool) throws {
    guard let staged = intent.staged else { return }
    if mustRetain { try retain(staged) } else { try slots.delete(.staged(staged)) }
  }

  private func syncPlaces() throws {
    do {
      try slots.sync()
    } catch let error as StorageError {
      throw StorageError(
        .outcomeUnknown, "The device failed while it confirmed a commit: it may or may not have been stored.",
        advice: "The store has closed itself. Check the device, open the store again and look at what it holds.",
        backend: name, underlying: error.underlying)
    }
  }

  private func waiting(_ error: StorageError, key: Key) -> StorageError {
    StorageError(
      error.code, "The value is stored, but it could not be put into its place: \(error.message)",
      advice: "Reads find it, and the next commit tries again.", backend: name, key: key,
      underlying: error.underlying)
  }
}
