extension TypedStore {
  /// Reads, and recovers from an error: damage is handled by its policy and an older value migrated, and it is read
  /// again; a newer value is read from its kept old form. The only function that knows all three.
  /// - Parameters:
  ///   - read: reads; called again after damage was handled or a value migrated.
  ///   - handle: handles damage; throws if the value is none of those that are read, or cannot be replaced.
  ///   - previous: returns what is read if a value is of a newer version; `nil` if it has no kept old form.
  @inline(__always)  // A read that succeeds costs no frame.
  func reading<R>(
    _ read: () async throws -> R, damaged handle: (StorageError) async throws -> Void = { throw $0 },
    newer previous: () async throws -> R? = { nil }
  ) async throws -> R {
    do { return try await read() } catch let error as StorageError {
      return try await recover(from: error, read, damaged: handle, newer: previous)
    }
  }

  func recover<R>(
    from first: StorageError, _ read: () async throws -> R, damaged handle: (StorageError) async throws -> Void,
    newer previous: () async throws -> R?
  ) async throws -> R {
    var error = first
    var handled: Set<StoreKey?> = []
    var migrations: [StoreKey: Int] = [:]
    while true {
      var isNewer = false
      switch error.code {
      case .damaged where handled.insert(error.key).inserted: try await handle(error)
      case .migrationNeeded where coding.schema != nil:
        // Another process may roll the value back again and again.
        guard let key = error.key, migrations[key, default: 0] < 10 else { throw error }
        migrations[key, default: 0] += 1
        try await migrateValue(of: key)
      case .newerFormat where coding.schema != nil: isNewer = true
      default: throw error
      }
      do {
        guard isNewer else { return try await read() }
        if let value = try await previous() { return value }
      } catch let next as StorageError where !isNewer || next.code == .migrationNeeded {
        error = next
        continue
      }
      throw error
    }
  }
}
