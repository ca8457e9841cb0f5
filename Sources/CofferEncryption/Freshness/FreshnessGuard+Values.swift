import CofferCore

/// The comparison of the values of a store with their record, and of this record with that of the freshness, which the
/// anchor implies.
extension FreshnessGuard {
  /// Returns the operations that give the record of the values, if there is one, the next number of the record of the
  /// freshness. One that does not belong to the present number is left behind, so that it is noticed. Another process
  /// that creates or changes the record at the same time makes the commit fail.
  func valuesOperations(from present: UInt64, to next: UInt64) async throws -> [WriteBatch.Operation] {
    // The revision of a record that the store itself finds damaged is not known.
    let stored: SystemRecord?
    do { stored = try await base.record(ValuesRecord.name) } catch let error as StorageError
      where error.code == .damaged
    {
      return []
    }
    let precondition = WriteBatch.Operation.requireRecord(ValuesRecord.name, stored?.revision)
    do {
      guard let stored else { return [precondition] }
      var record = try ValuesRecord.open(stored.content, under: keys)
      guard record.sequence == present else { return [precondition] }
      record.sequence = next
      return [precondition, .putRecord(ValuesRecord.name, try record.sealed(under: keys))]
    } catch let error as StorageError where error.code == .damaged {
      return [precondition]
    }
  }

  /// Compares the values of a store that covers them.
  /// - Throws: `rolledBack`, `damaged`.
  /// - Parameter isComplete: whether all values are encrypted, so that a plain one has lost its attributes.
  func checkValues(with tracker: ValueTracker, isComplete: Bool) async throws {
    guard try await difference(tracker, isComplete) != nil, let found = try await difference(tracker, isComplete) else {
      return
    }
    if found.code == .rolledBack, let bytes = try await reader.bytes(), let anchored = try? AnchorRecord(bytes) {
      base.tellRollback(from: anchored)
    }
    throw found
  }

  /// Returns the error for values that are not those of their record; `nil` if they are.
  private func difference(_ tracker: ValueTracker, _ isComplete: Bool) async throws -> StorageError? {
    do {
      let scan = try await tracker.scan(keys)
      // A store that is read only may have no anchor yet.
      guard let content = scan.freshness else { return nil }
      let number = scan.stored.record.sequence
      guard try FreshnessRecord.open(content, under: keys).sequence == number else {
        guard number > 0 else { throw StorageError.valuesRecordWasLost }
        return .valuesAreOlder("the record of its values is an older one, or another one", location: base.description)
      }
      // Nothing to compare before the values were counted for the first time.
      guard let digest = scan.stored.record.digest, digest != scan.values.digest else { return nil }
      // A store of files lists a value whose row is damaged without attributes.
      let damaged = scan.values.damaged + (isComplete ? scan.values.plain : 0)
      guard damaged == 0 else {
        return StorageError(
          .damaged, "The attributes of \(damaged == 1 ? "a value" : "\(damaged) values") are damaged.",
          location: base.description
        ).unconfirmed(reader.description, location: base.description)
      }
      return .valuesAreOlder(
        "a value was replaced by an older one, removed or added "
          + "(values: \(scan.values.digest.count) of \(digest.count))",
        location: base.description)
    } catch is ValueTracker.Missing {
      return .valuesAreOlder("the record of its values was removed", location: base.description)
    } catch let error as StorageError where error.code == .damaged {
      return error.unconfirmed(reader.description, location: base.description)
    }
  }
}
