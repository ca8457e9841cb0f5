import CofferCore
import Foundation

extension TakeOverWork {
  // MARK: Comparing

  /// What the store has under the key of an original.
  private enum Counterpart: Sendable {
    case absent
    /// The same value, with these attributes.
    case equal(StoreRevision, ValueAttributes)
    case other(StoreRevision)
  }

  /// Compares the originals of a batch with one state of the store.
  private func counterparts(of found: [Found]) async throws -> [Counterpart] {
    guard engine.capabilities.contains(.snapshots) else {
      return try await counterparts(of: found, engine.summary(of:), engine.entries(_:))
    }
    return try await engine.withSnapshot { snapshot in
      try await counterparts(of: found, { try await snapshot.summary(of: $0) }, { try await snapshot.entries($0) })
    }
  }

  /// A value of another size is not read, so that the values that are in memory at once are no larger than the batch.
  /// Those of unknown size are read one by one.
  private func counterparts(
    of found: [Found], _ summary: (StoreKey) async throws -> StoreEntrySummary?,
    _ entries: ([StoreKey]) async throws -> [StoreEntry?]
  ) async throws -> [Counterpart] {
    var counterparts = [Counterpart](repeating: .absent, count: found.count)
    var ofEqualSize: [Int] = []
    for (index, item) in found.enumerated() {
      guard let stored = try await summary(item.key) else { continue }
      if stored.size == item.original.value.data.count {
        ofEqualSize.append(index)
      } else if stored.size != nil {
        counterparts[index] = .other(stored.revision)
      } else {
        counterparts[index] = counterpart(of: item, try await entries([item.key])[0])
      }
    }
    for (index, entry) in zip(ofEqualSize, try await entries(ofEqualSize.map { found[$0].key })) {
      counterparts[index] = counterpart(of: found[index], entry)
    }
    return counterparts
  }

  private func counterpart(of found: Found, _ stored: StoreEntry?) -> Counterpart {
    guard let stored else { return .absent }
    let value = found.original.value
    // A value that expires is not the same: the original has no end.
    let isEqual =
      stored.value == value.data && stored.attributes[.expiry] == nil
      && stored.attributes[.legacyEncoding] == value.attributes[.legacyEncoding]
    return isEqual ? .equal(stored.revision, stored.attributes) : .other(stored.revision)
  }

  // MARK: Storing

  private enum Decision {
    /// Store it, if the key has this revision.
    case put(StoreRevision?)
    /// The store has it.
    case keep
    case conflict
    case skip
    /// The store cannot hold it.
    case refused(StorageError)
  }

  private func decide(
    _ found: Found, _ stored: Counterpart, _ shared: Set<StoreKey>, _ refused: [StoreKey: StorageError]
  ) -> Decision {
    if let error = refused[found.key] { return .refused(error) }
    switch stored {
    case .absent: return .put(nil)
    case .equal: return .keep
    case .other(let revision):
      switch options.conflicts {
      case .refuse: return .conflict
      case .keepStored: return .skip
      case .replaceStored: return shared.contains(found.key) ? .conflict : .put(revision)
      }
    }
  }

  /// Stores the values of a batch, compares them, and removes their originals if that is asked for.
  func take(
    _ found: [Found], _ opened: any LegacyOrigin, _ shared: Set<StoreKey>
  ) async throws -> [TakeOverReport.Entry] {
    guard !found.isEmpty else { return [] }
    var (attempt, refused) = (1, [StoreKey: StorageError]())
    while true {
      let stored = try await counterparts(of: found)
      let decisions = zip(found, stored).map { decide($0, $1, shared, refused) }
      var entries = zip(found, decisions).map(entry)
      if options.isDryRun { return entries }
      do {
        try await commit(found, decisions, stored)
      } catch let error as StorageError where error.code == .preconditionFailed && attempt < Self.attempts {
        attempt += 1
        continue
      } catch let error as StorageError where error.isAboutTakenValue {
        // One that the store cannot hold does not keep back the others.
        guard let key = error.key, refused[key] == nil, found.contains(where: { $0.key == key }) else { throw error }
        refused[key] = error
        continue
      }
      let kept = try await compare(found, decisions)
      for index in Set(found.indices).subtracting(kept) {
        if case .put = decisions[index] { entries[index].outcome = .conflict }
      }
      guard options.removesOriginals else { return entries }
      let removable = kept.filter { !shared.contains(found[$0].key) }
      let originals = removable.map { found[$0].original }
      let removed = try await runBlocking { try opened.remove(originals) }
      for (index, isRemoved) in zip(removable, removed) { entries[index].isOriginalRemoved = isRemoved }
      return entries
    }
  }

  private func commit(_ found: [Found], _ decisions: [Decision], _ stored: [Counterpart]) async throws {
    var batch = WriteBatch(durability: .full)
    for (index, (found, decision)) in zip(found, decisions).enumerated() {
      switch decision {
      case .put(let revision):
        batch.require(found.key, at: revision)
        batch.put(found.key, found.original.value.data, found.original.value.attributes)
      case .keep where options.removesOriginals:
        // Its writer may not have synced it. A commit with full durability does, before the original is removed.
        guard case .equal(let revision, let attributes) = stored[index] else { continue }
        batch.require(found.key, at: revision)
        batch.put(found.key, found.original.value.data, attributes)
      case .keep, .conflict, .skip, .refused: continue
      }
    }
    if !batch.operations.isEmpty { try await engine.commit(batch, from: origin) }
  }

  /// Reads the values back, and returns the indices of those that the store has.
  private func compare(_ found: [Found], _ decisions: [Decision]) async throws -> [Int] {
    let stored = try await counterparts(of: found)
    return found.indices.filter { index in
      switch (decisions[index], stored[index]) {
      // Another program may have written the key since; the original then stays.
      case (.put, .equal), (.keep, .equal): true
      case (.put, _), (.keep, _), (.conflict, _), (.skip, _), (.refused, _): false
      }
    }
  }

  private func entry(_ found: Found, _ decision: Decision) -> TakeOverReport.Entry {
    let size = engine.capabilities.contains(.secrecy) ? nil : found.original.value.data.count
    let outcome: TakeOverReport.Outcome =
      switch decision {
      case .put: .taken
      case .keep: .alreadyThere
      case .conflict: .conflict
      case .skip: .skipped(reason: "the store has another value")
      case .refused(let error): .unreadable(reason: error.message)
      }
    return .init(name: found.original.name, key: found.key, size: size, outcome: outcome)
  }
}

extension StorageError {
  /// Whether a commit of a take-over was refused for one of its values.
  var isAboutTakenValue: Bool { isAboutContent && key != nil }
}
