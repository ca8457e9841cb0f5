import CofferCore
import CofferSQLite
import Foundation

extension SlotHandle {
  /// Publishes every committed value, including those that a killed writer has left (roll forward). Idempotent.
  ///
  /// Runs on the writer's thread and under the write lock of the journal, so that no two processes do it at once.
  /// - Parameters:
  ///   - isLazy: whether completed intents may be deleted with the next commit, which saves a page of the log.
  ///   - resume: called once the published values are synced, with those that could not be published. These stay
  ///     committed and readable, and the next commit tries again.
  func publish(_ committer: GroupCommitter, isLazy: Bool = false, resume: (Unpublished) -> Void = { _ in }) throws {
    reached(.committed)
    var isResumed = false
    do {
      // Moving an item of a keyring changes its stamp, which is recorded.
      try committer.housekeep(rarelyWrites: isLazy && !slots.traits.contains(.listsSlowly)) {
        let intents = try SlotJournal.intents(committer.statements, of: name)
        let unpublished = try publish(intents, committer)
        // What fails is called stored, so no power loss may remove it.
        if !unpublished.waiting.isEmpty { try confirming(name) { try slots.sync(.allStaged) } }
        isResumed = true
        resume(unpublished)
        // Delete removals at once: carried out again, one would remove a file that was restored meanwhile.
        if isLazy, unpublished.waiting.isEmpty, intents.allSatisfy({ $0.staged != nil }) {
          noteDone(intents.last?.revision ?? .zero)
        } else {
          try SlotJournal.forget(intents, except: unpublished.waiting, committer)
        }
      }
    } catch let error as StorageError where error.code != .outcomeUnknown {
      // Either everything is published and only its intents remain, which the next commit deletes; or the lock of the
      // journal was not acquired, and nothing is published.
      if !isResumed {
        try confirming(name) { try slots.sync(.allStaged) }
        resume(Unpublished(all: unfinished(error)))
      }
    }
    reached(.finished)
    discardRetained()
  }

  private func publish(_ intents: [SlotJournal.Intent], _ committer: GroupCommitter) throws -> Unpublished {
    var unpublished = Unpublished()
    guard !intents.isEmpty else { return unpublished }
    try acknowledgeCopy(committer)
    let mustRetain = control.hasSnapshots
    // Only the last intent of a key is carried out: repeated after a kill, an earlier deletion would remove the last
    // value, which is published already.
    let keys = Dictionary(grouping: intents, by: \.key).sorted { $0.value[0].position < $1.value[0].position }
    var absence: StorageError?
    for (key, steps) in keys {
      do {
        if let absence { throw absence }  // Every further call to an unavailable store would wait for a timeout.
        // Any of its versions may be in the slot, since some of the steps may have been carried out before.
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
          let mayBeLost = steps.last?.mayBeLost == true
          switch try publish(staged, key, mayBeLost: mayBeLost, committer) {
          case .moved: unpublished.completed += 1
          case .wasThere: break
          case .isLost:
            unpublished.failures[key] = lost(key)
            if !mayBeLost { unpublished.lost.append(key) }
          }
        } else {
          unpublished.completed += try remove(key, versions: steps.compactMap(\.previous)) ? 1 : 0
        }
        reached(.placed)
      } catch let error as StorageError {
        unpublished.failures[key] = unfinished(error.locating(at: name, key: key))
        unpublished.waiting.insert(key)
        if error.isAbsence { absence = error }
      }
    }
    try carryOut(keys.map(\.key), &unpublished)
    reached(.synced)
    return unpublished
  }

  /// Applies the changes that the store has deferred, and syncs all. If that fails, all of them stay pending.
  private func carryOut(_ keys: [KeyName], _ unpublished: inout Unpublished) throws {
    do {
      try slots.sync(.values)
    } catch let error as StorageError where error.code != .outcomeUnknown {
      for key in keys where unpublished.failures[key] == nil {
        unpublished.failures[key] = unfinished(error.locating(at: name, key: key))
        unpublished.waiting.insert(key)
      }
      unpublished.completed = 0
    }
  }

  private enum PublishResult {
    case moved, wasThere, isLost
  }

  /// Publishes a staged value. A damaged one is quarantined, or removed if it was not synced: a power loss has torn it.
  private func publish(
    _ staged: SlotID, _ key: KeyName, mayBeLost: Bool, _ committer: GroupCommitter
  ) throws -> PublishResult {
    do {
      guard try isWhole(staged, key, committer) else {
        if mayBeLost {
          try slots.delete(.staged(staged))
        } else {
          _ = try slots.move(.staged(staged), to: .quarantined(staged.description))
        }
        return .isLost
      }
      let stamp: SlotStamp?
      do { stamp = try slots.move(.staged(staged), to: .value(key)) } catch let error as StorageError
        where error.code == .damaged && mayBeLost
      {
        try slots.delete(.staged(staged))
        return .isLost
      }
      if let stamp { try SlotJournal.note(stamp, of: staged, key, committer) }
      return .moved
    } catch let error as StorageError where error.code == .notFound {
      // It was published before; or it was lost to a power loss before its name was synced, and then the commit was
      // never acknowledged.
      guard let record = try SlotJournal.record(of: key, committer), record.id == staged else { return .wasThere }
      guard try holds(key, one: [record]) else { return .isLost }
      // The process that moved it was killed before it recorded the stamp that later edits are compared with.
      if record.stamp == nil, let stamp = try slots.stamp(.value(key))?.stamp {
        try SlotJournal.note(stamp, of: staged, key, committer)
      }
      return .wasThere
    }
  }

  /// Whether a staged value is intact. Checked only for values without a stamp, whose damage could not be told from an
  /// edit once published. Stores of secrets detect damage themselves.
  private func isWhole(_ staged: SlotID, _ key: KeyName, _ committer: GroupCommitter) throws -> Bool {
    guard !slots.keepsSecrets, !slots.traits.contains(.stampsStaged),
      let record = try SlotJournal.record(of: key, committer),
      record.id == staged, record.stamp == nil
    else { return true }
    do {
      return try slots.read(.staged(staged)).map { record.matches(key, $0.data) } ?? true
    } catch let error as StorageError where error.code == .damaged {
      return false
    }
  }

  /// Removes the value of a key, unless another program has replaced it since.
  /// - Returns: Whether a value was removed.
  private func remove(_ key: KeyName, versions: [SlotRecord]) throws -> Bool {
    do {
      guard try slots.stamp(.value(key)) != nil else {
        try slots.delete(.value(key))  // together with any remains elsewhere
        return false
      }
      // A value from the copy is one of ours, however old it is.
      guard try servesCopy || holds(key, one: versions) else { return false }
    } catch let error as StorageError where error.code == .notAStore {
      // A symbolic link, say, that replaced the value: remove it, unless the key had no value before.
      if versions.isEmpty { return false }
    } catch let error as StorageError where error.code == .valueTooLarge {
      return false  // None of these versions was too large; reading the key throws.
    }
    try slots.delete(.value(key))
    return true
  }

  /// Whether the value slot of a key holds one of these versions.
  private func holds(_ key: KeyName, one versions: [SlotRecord]) throws -> Bool {
    guard let presence = try slots.stamp(.value(key)) else { return false }
    if let stamp = presence.stamp, versions.contains(where: { $0.stamp == stamp }) { return true }
    guard let content = try slots.read(.value(key)) else { return false }
    return versions.contains { matches($0, key, content) || isStillLost($0, key, content) }
  }

  /// The error for a committed change that could not be published; it must not suggest that nothing was written.
  private func unfinished(_ error: StorageError) -> StorageError {
    StorageError(
      .unfinished, "The change is stored, but could not be published: \(error.message)",
      advice: "Reads return the new value. The next commit tries again.", location: name, key: error.key,
      underlying: error.underlying)
  }

  private func lost(_ key: KeyName) -> StorageError {
    StorageError(
      .unfinished, "The staged value is gone or damaged and could not be published.",
      advice: "Read the key to check its present value, and write it again.", location: name, key: key)
  }
}

/// Runs a sync of a store, whose failure leaves the outcome of the commits unknown.
func confirming(_ name: String, _ sync: () throws -> Void) throws {
  do {
    try sync()
  } catch let error as StorageError {
    throw StorageError(
      .outcomeUnknown, "The device failed while it confirmed a commit: it may or may not have been stored.",
      advice: "The store has closed itself. Check the device, open the store again and look at what it holds.",
      location: name, underlying: error.underlying)
  }
}

/// The committed changes that could not be published.
struct Unpublished: Sendable {
  /// The error that prevented publishing anything.
  var all: StorageError?
  /// The errors of single keys.
  var failures: [KeyName: StorageError] = [:]
  /// The keys whose staged values are missing or damaged.
  var lost: [KeyName] = []
  /// The failed keys that the next commit tries again.
  var waiting: Set<KeyName> = []
  /// The number of values that were published or removed and had not been before.
  var completed = 0

  /// Returns the error for a batch that has changed these keys, or `nil` if all its changes are published.
  func failure(of selection: StoreSelection) -> StorageError? {
    all ?? (failures.isEmpty ? nil : failures.first { selection.contains($0.key) }?.value)
  }
}
