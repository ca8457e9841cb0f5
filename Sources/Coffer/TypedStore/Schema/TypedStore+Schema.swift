import CofferLocks
import CofferPresence
import Foundation

extension TypedStore {
  /// Brings the value of a key to the present version of its schema. Reading it does the same.
  /// - Returns: whether this call has changed the stored value.
  /// - Throws: `StorageError`: `migrationFailed`, `newerFormat`, and those of a read and a save. The stored value is
  ///   then unchanged, unless the code is `outcomeUnknown` or `unfinished`. `CancellationError`.
  @discardableResult
  public func migrateValue(of key: StoreKey) async throws -> Bool {
    guard coding.schema?[key] != nil else { return false }
    // Readers of one key migrate it one after the other: all but the first find the present version.
    return try await migrations.run(key) {
      while true {
        try Task.checkCancellation()
        guard let entry = try await engine.entry(key) else { return false }
        guard let operations = try await migrations(of: [entry])[0].get() else { return false }
        do {
          try await commitMigration(operations)
          return true
        } catch let error as StorageError where error.code == .preconditionFailed {
          // Another process has migrated or changed it.
        }
      }
    }
  }

  /// Returns, for each of several values, the operations that migrate it if it is unchanged until then, `nil` if there
  /// is nothing to do, or the reason why it cannot be migrated.
  /// - Throws: `CancellationError`.
  func migrations(of entries: [StoreEntry]) async throws -> [Result<[WriteBatch.Operation]?, any Error>] {
    let limits = entries.compactMap { coding.schema?[$0.key]?.shortestLimit }
    var outcomes: [Result<[WriteBatch.Operation]?, any Error>] = []
    // A step that is late ends the watch: the rest has another one.
    while outcomes.count < entries.count {
      let rest = entries[outcomes.count...]
      // `nil` once the watch has ended; a step that returns later adds nothing.
      let done = Locked<[Result<[WriteBatch.Operation]?, any Error>]?>([])
      var late: (any Error)?
      do {
        try await StepWatch.run(shortest: limits.min() ?? .seconds(30)) { [self] watch in
          for entry in rest {
            try Task.checkCancellation()
            let outcome: Result<[WriteBatch.Operation]?, any Error>
            do { outcome = .success(try await migration(of: entry, watch)) } catch { outcome = .failure(error) }
            done.withLock { $0?.append(outcome) }
          }
        }
      } catch let error as StorageError {
        late = error
      }
      outcomes += done.withLock { done in
        defer { done = nil }
        return done ?? []
      }
      if let late { outcomes.append(.failure(late)) }
    }
    return outcomes
  }

  private func migration(of entry: StoreEntry, _ watch: StepWatch) async throws -> [WriteBatch.Operation]? {
    guard let schema = coding.schema?[entry.key] else { return nil }
    let version = try schema.storedVersion(entry.attributes, of: entry.key, at: engine.description)
    guard version < schema.version else { return nil }
    guard !engine.isReadOnly else {
      throw StorageError(
        .readOnly, "The value has version \(version) of '\(schema.name)', and the store is open for reading only.",
        advice: "Open it for writing once, to migrate the value to version \(schema.version).",
        location: engine.description, key: entry.key)
    }
    let encoded = try await schema.migrate(entry, from: version, coding, watch)
    var attributes = entry.attributes
    attributes[Self.propertyListType] = nil
    attributes = attributes.merging(encoded.attributes)
    var operations: [WriteBatch.Operation] = [
      .require(entry.key, entry.revision), .put(entry.key, encoded.data, attributes),
    ]
    guard let oldKey = KeptForms.key(of: entry.key) else { return operations }
    let old = OldForm(of: entry, replacedBy: encoded.data)
    // One that the store cannot hold is not kept: the value would else not be readable at all.
    if schema.keepOldForm != .never, old.encoded.count <= engine.capabilities.maximumValueSize {
      var kept = entry.attributes
      kept[Self.propertyListType] = nil
      if case .for(let time) = schema.keepOldForm {
        let end = engine.clock.now().addingTimeInterval(time / .seconds(1))
        kept.expires = min(end, kept.expires ?? end)
      }
      operations.append(.put(oldKey, old.encoded, kept))
    } else {
      operations.append(.delete(oldKey))  // That of an earlier migration.
    }
    return operations
  }

  /// The type of a preference, which belongs to the bytes and not to the value.
  private static var propertyListType: ValueAttribute<UInt8> { ValueAttribute(code: 1) }

  func commitMigration(_ operations: [WriteBatch.Operation]) async throws {
    let keeps = operations.contains { if case .put(let key, _, _) = $0 { KeptForms.contains(key) } else { false } }
    let marks: [WriteBatch.Operation] =
      keeps && engine.capabilities.contains(.systemRecords) ? [.putRecord(KeptForms.record, Data())] : []
    let batch = WriteBatch(operations + marks)
    let commit = try await engine.commit(batch, from: origin)
    cached(commit, batch.selection.keys.map { ($0, nil) }, batch, [])
  }

  /// Restores the bytes and attributes that a value had before its migration.
  ///
  /// The next read by this version of the application migrates the value again: use it before the previous version of
  /// the application is installed again.
  /// - Throws: `StorageError`: `notFound` if no old form is kept, or the value was changed after its migration;
  ///   `damaged` if the old form is damaged; `preconditionFailed` if another writer changes the value meanwhile.
  ///   Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  public func rollback(of key: StoreKey) async throws {
    let (entry, old) = try await oldForm(of: key)
    guard let entry, let old, let oldKey = KeptForms.key(of: key) else {
      throw StorageError(
        .notFound, "There is no old form of the value: it was not migrated, or was changed since.",
        advice: "The value is unchanged.", location: engine.description, key: key)
    }
    try await commitMigration([
      .require(key, entry.revision), .put(key, old.data, old.attributes), .delete(oldKey),
    ])
  }

  /// Rolls back all values that have a kept old form, each in a commit of its own.
  ///
  /// A run that was cancelled or has failed is resumed by the next one. Damaged values are passed over, and the error
  /// of the first is thrown at the end.
  /// - Parameter prefix: the prefix of the keys; `nil` for all keys.
  /// - Returns: the number of values that were rolled back; those changed after their migration are not.
  /// - Throws: the errors of ``rollback(of:)`` other than `notFound`; the values before it are rolled back, and after
  ///   `damaged` those behind it, too.
  @discardableResult
  public func rollback(prefix: StoreKey?) async throws -> Int {
    var count = 0
    var damage: StorageError?
    for kept in try await engine.keptForms(prefix: prefix) {
      try Task.checkCancellation()
      guard let key = KeptForms.owner(of: kept.key), coding.schema?[key] != nil else { continue }
      do {
        try await rollback(of: key)
        count += 1
      } catch let error as StorageError where error.code == .notFound {
      } catch let error as StorageError where error.code == .damaged {
        damage = damage ?? error
      }
    }
    if let damage { throw damage }
    return count
  }
}
