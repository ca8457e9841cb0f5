public import CofferCore

extension TypedStore {
  /// Brings all values of declared keys to the present versions of their schemas, a hundred in one commit.
  ///
  /// A value that cannot be migrated stays as it is and does not stop the others: look at the report. Each commit is
  /// complete in itself: a run that was cancelled, killed or has failed is resumed by the next one.
  /// - Parameters:
  ///   - prefix: the prefix of the keys; `nil` for all keys.
  ///   - progress: called after each commit.
  /// - Returns: the numbers of values, and the reason for each that was not migrated.
  /// - Throws: `StorageError` if the store cannot be read or written, such as `diskFull` or `unavailable`;
  ///   `CancellationError`. The values before it are stored in their new form.
  public func migrate(
    prefix: KeyName? = nil, progress: (@Sendable (MigrationState) -> Void)? = nil
  ) async throws -> MigrationReport {
    guard let schema = coding.schema else { return MigrationReport() }
    try await pending?.flush()
    var (report, state) = (MigrationReport(), MigrationState())
    let due = try await listing(prefix, schema, &report)
    state.total = due.count
    progress?(state)
    var rest = due[...]
    while !rest.isEmpty {
      try Task.checkCancellation()
      let keys = rest.prefix(Self.groupSize(rest)).map(\.key)
      rest = rest.dropFirst(keys.count)
      try await migrateTogether(keys, schema, &report)
      (state.completed, state.migrated) = (due.count - rest.count, report.migrated)
      progress?(state)
    }
    return report
  }

  /// Starts a migration of all values of declared keys, as ``migrate(prefix:progress:)`` does it, and returns at once.
  ///
  /// ```swift
  /// let run = store.migration(prefix: "wishes/")
  /// for await state in run.updates { show(state.completed, of: state.total) }
  /// let report = try await run.result()
  /// ```
  /// - Parameter prefix: the prefix of the keys; `nil` for all keys.
  /// - Returns: the running migration, counted in values.
  public func migration(prefix: KeyName? = nil) -> ObservedTask<MigrationState, MigrationReport> {
    ObservedTask(MigrationState()) { (completed: $0.completed, total: $0.total) }.start { [self] run in
      try await migrate(prefix: prefix) { state in run.update { $0 = state } }
    }
  }

  /// The number of values at the beginning that are migrated in one commit: up to 100, and about 4 MiB, since all of
  /// them are in memory at once.
  private static func groupSize(_ values: ArraySlice<DueValue>) -> Int {
    var (count, bytes) = (0, 0)
    for value in values.prefix(100) {
      bytes += value.size
      if count > 0, bytes > 4 << 20 { break }
      count += 1
    }
    return count
  }

  /// A value of another version.
  private struct DueValue {
    let key: KeyName
    /// The size in bytes; that of a secret, which is not known, counts as 64 KiB.
    let size: Int
  }

  /// Returns the values of other versions than the present one.
  private func listing(
    _ prefix: KeyName?, _ schema: StoreSchema, _ report: inout MigrationReport
  ) async throws -> [DueValue] {
    var due: [DueValue] = []
    for summary in try await engine.summaries(prefix: prefix) {
      guard let declared = schema[summary.key] else { continue }
      do {
        let version = try declared.storedVersion(summary.attributes, of: summary.key, at: engine.description)
        guard version != declared.version else {
          report.current += 1
          continue
        }
        due.append(DueValue(key: summary.key, size: summary.size ?? 64 << 10))
      } catch let error as StorageError {
        report.add(error, of: summary.key)
      }
    }
    return due
  }

  /// Migrates values in one commit, or one by one if that fails because of one of them.
  private func migrateTogether(
    _ keys: [KeyName], _ schema: StoreSchema, _ report: inout MigrationReport
  ) async throws {
    var (operations, migrated, others) = ([WriteBatch.Operation](), 0, report)
    do {
      let entries = try await engine.entries(keys).compactMap { $0 }.filter { schema[$0.key] != nil }
      for entry in entries {
        try Task.checkCancellation()
        do {
          guard let found = try await migration(of: entry) else {
            others.current += 1
            continue
          }
          operations += found
          migrated += 1
        } catch let error as StorageError where error.isOfOneValue {
          others.add(error, of: entry.key)
        }
      }
      if !operations.isEmpty { try await commitMigration(operations) }
      report = others
      report.migrated += migrated
    } catch let error as StorageError where error.code == .preconditionFailed || error.isOfOneValue {
      for key in keys {
        do {
          if try await migrateValue(of: key) { report.migrated += 1 } else { report.current += 1 }
        } catch let error as StorageError where error.isOfOneValue {
          report.add(error, of: key)
        }
      }
    }
  }
}

extension StorageError {
  /// Whether the error is about the value, so that others can be migrated.
  fileprivate var isOfOneValue: Bool {
    key != nil
      && [.migrationFailed, .newerFormat, .decodingFailed, .encodingFailed, .damaged, .valueTooLarge].contains(code)
  }
}
