import CofferCore
import CofferSQLite
import Foundation

extension SlotHome {
  /// Puts everything that was committed into its place, whoever committed it: a writer that was killed in between
  /// leaves it to the next. Doing it twice does no harm.
  ///
  /// Runs on the writer's thread and under the write lock of the journal, so that no two processes do it at once.
  /// - Parameters:
  ///   - isLazy: whether the journal may forget what is done with the next commit: that saves a page of the log.
  ///   - resume: called when all is in its place and has survived power loss, with what could not be put into its
  ///     place. That stays committed and readable, and is tried again with the next commit.
  func publish(_ committer: GroupCommitter, isLazy: Bool = false, resume: (Unplaced) -> Void = { _ in }) throws {
    reached(.committed)
    var isResumed = false
    do {
      try committer.housekeep {
        let intents = try SlotJournal.intents(committer.statements, of: name)
        let unplaced = try place(intents, committer)
        isResumed = true
        resume(unplaced)
        // A removal is forgotten at once: carried out again, it would take a file that somebody has put back.
        if isLazy, unplaced.waiting.isEmpty, intents.allSatisfy({ $0.staged != nil }) {
          noteDone(intents.last?.revision ?? .zero)
        } else {
          try SlotJournal.forget(intents, except: unplaced.waiting, committer)
        }
      }
    } catch let error as StorageError where error.code != .outcomeUnknown {
      // Either all is in its place, and only the journal still lists it, which the next commit mends; or the lock of
      // the journal could not be had, and nothing is in its place.
      if !isResumed { resume(Unplaced(all: unfinished(error))) }
    }
    reached(.finished)
    discardRetained()
  }

  private func place(_ intents: [SlotJournal.Intent], _ committer: GroupCommitter) throws -> Unplaced {
    var unplaced = Unplaced()
    guard !intents.isEmpty else { return unplaced }
    try acknowledgeCopy(committer)
    let mustRetain = control.hasSnapshots
    // Only the last intent of a key is carried out: whoever does all of this again after a kill would find the last
    // value in its place already, and remove it for a deletion that came before it.
    let keys = Dictionary(grouping: intents, by: \.key).sorted { $0.value[0].position < $1.value[0].position }
    var absence: StorageError?
    for (key, steps) in keys {
      do {
        if let absence { throw absence }  // A home that is away is not asked for each key: each would take a deadline.
        // Whichever of its versions is in the place: some of the steps may have been carried out before.
        if mustRetain,
          let held = steps.compactMap(\.previous).first(where: { (try? holds(key, one: [$0])) == true })
        {
          retain(key, held)
        }
        for (step, next) in zip(steps, steps.dropFirst()) {
          guard let staged = step.staged else { continue }
          if mustRetain {
            retain(staged: staged, size: next.previous?.size ?? 0)
          } else {
            try slots.delete(.staged(staged))
          }
        }
        if let staged = steps.last?.staged {
          switch try place(staged, key, committer) {
          case .moved: unplaced.completed += 1
          case .wasThere: break
          case .isLost:
            unplaced.failures[key] = lost(key)
            unplaced.lost.append(key)
          }
        } else {
          unplaced.completed += try remove(key, versions: steps.compactMap(\.previous)) ? 1 : 0
        }
        reached(.placed)
      } catch let error as StorageError {
        unplaced.failures[key] = unfinished(error.locating(backend: name, key: key))
        unplaced.waiting.insert(key)
        if error.isAbsence { absence = error }
      }
    }
    try carryOut(keys.map(\.key), &unplaced)
    try syncPlaces()
    reached(.synced)
    return unplaced
  }

  /// Has a home do what it has only noted so far; all of it stays to be done when that fails.
  private func carryOut(_ keys: [StoreKey], _ unplaced: inout Unplaced) throws {
    do {
      try slots.flush()
    } catch let error as StorageError where error.code != .outcomeUnknown {
      for key in keys where unplaced.failures[key] == nil {
        unplaced.failures[key] = unfinished(error.locating(backend: name, key: key))
        unplaced.waiting.insert(key)
      }
      unplaced.completed = 0
    }
  }

  private enum Placing {
    case moved, wasThere, isLost
  }

  /// Moves a value to its place.
  private func place(_ staged: SlotID, _ key: StoreKey, _ committer: GroupCommitter) throws -> Placing {
    do {
      guard try isWhole(staged, key, committer) else {
        _ = try slots.move(.staged(staged), to: .quarantined(staged))
        return .isLost
      }
      let stamp = try slots.move(.staged(staged), to: .value(key))
      if let stamp { try SlotJournal.note(stamp, of: staged, key, committer) }
      return .moved
    } catch let error as StorageError where error.code == .notFound {
      // It was moved before; or it is gone, with a power loss that came before its name had survived, and then nobody
      // was told that it was stored.
      guard let record = try SlotJournal.record(of: key, committer), record.id == staged else { return .wasThere }
      guard try holds(key, one: [record]) else { return .isLost }
      // The process that moved it was killed before it recorded the stamp that later edits are compared with.
      if record.stamp == nil, let stamp = try slots.stamp(.value(key))?.stamp {
        try SlotJournal.note(stamp, of: staged, key, committer)
      }
      return .wasThere
    }
  }

  /// Whether what waits may be put into its place: where a value has no stamp, nobody could tell there that it is
  /// damaged. (What keeps secrets can tell by itself.)
  private func isWhole(_ staged: SlotID, _ key: StoreKey, _ committer: GroupCommitter) throws -> Bool {
    guard !slots.keepsSecrets, let record = try SlotJournal.record(of: key, committer), record.id == staged,
      record.stamp == nil
    else { return true }
    do {
      return try slots.read(.staged(staged)).map { record.matches(key, $0.data) } ?? true
    } catch let error as StorageError where error.code == .damaged {
      return false
    }
  }

  /// Empties the place of a value, unless somebody has put something else there since it was removed.
  /// - Returns: Whether there was anything.
  private func remove(_ key: StoreKey, versions: [SlotRecord]) throws -> Bool {
    do {
      guard try slots.stamp(.value(key)) != nil else {
        try slots.delete(.value(key))  // with what may be left of it elsewhere
        return false
      }
      // What a copy holds is ours, however old it is.
      guard try servesCopy || holds(key, one: versions) else { return false }
    } catch let error as StorageError where error.code == .notAStore {
      // A link, say, that somebody has put in the place of a value: it goes. In an empty place it is no value of ours.
      if versions.isEmpty { return false }
    } catch let error as StorageError where error.code == .valueTooLarge {
      return false  // None of these versions was; its readers are told.
    }
    try slots.delete(.value(key))
    return true
  }

  /// Whether the place of a key holds one of these versions.
  private func holds(_ key: StoreKey, one versions: [SlotRecord]) throws -> Bool {
    guard let presence = try slots.stamp(.value(key)) else { return false }
    if let stamp = presence.stamp, versions.contains(where: { $0.stamp == stamp }) { return true }
    guard let content = try slots.read(.value(key)) else { return false }
    return versions.contains { matches($0, key, content) || isStillLost($0, key, content) }
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

  /// The batch has happened, so nobody may think that nothing was written.
  private func unfinished(_ error: StorageError) -> StorageError {
    StorageError(
      .unfinished, "The change is stored, but it could not be carried out in its place: \(error.message)",
      advice: "Reads see it, and the next commit tries again.", backend: name, key: error.key,
      underlying: error.underlying)
  }

  private func lost(_ key: StoreKey) -> StorageError {
    StorageError(
      .unfinished, "The value is gone or damaged that was to be put into its place.",
      advice: "Read the key to see what it holds, and write it again.", backend: name, key: key)
  }
}

/// What was committed and is not in its place.
struct Unplaced: Sendable {
  /// Why nothing is.
  var all: StorageError?
  /// Why single values are not.
  var failures: [StoreKey: StorageError] = [:]
  /// Those that are not there any more, or damaged.
  var lost: [StoreKey] = []
  /// Which of them are tried again.
  var waiting: Set<StoreKey> = []
  /// How many values were put into their places or removed, and were not so before.
  var completed = 0

  /// What concerns a batch that has changed these keys.
  func failure(of selection: StoreSelection) -> StorageError? {
    all ?? (failures.isEmpty ? nil : failures.first { selection.contains($0.key) }?.value)
  }
}
