extension TypedStore {
  /// Reads, and recovers from an error: damage is handled by its policy, a value of another version is migrated, and it
  /// is read again. The only function that knows both; a transaction does the same once its snapshot has ended.
  /// - Parameters:
  ///   - read: reads; called again after damage was handled or a value migrated.
  ///   - handle: handles damage; throws if the value is none of those that are read, or cannot be replaced.
  @inline(__always)  // A read that succeeds costs no frame.
  package func reading<R>(
    _ read: () async throws -> R, damaged handle: (StorageError) async throws -> Void = { throw $0 }
  ) async throws -> R {
    do { return try await read() } catch let error as StorageError {
      return try await recover(from: error, read, damaged: handle)
    }
  }

  func recover<R>(
    from first: StorageError, _ read: () async throws -> R, damaged handle: (StorageError) async throws -> Void
  ) async throws -> R {
    var error = first
    var handled: Set<KeyName?> = []
    var migrations: [KeyName: Int] = [:]
    while true {
      switch error.code {
      case .damaged where handled.insert(error.key).inserted: try await handle(error)
      case .migrationNeeded where coding.schema != nil:
        // Another version of the application may bring the value back again and again.
        guard let key = error.key, migrations[key, default: 0] < 10 else { throw error }
        migrations[key, default: 0] += 1
        try await migrateValue(of: key)
      default: throw error
      }
      do { return try await read() } catch let next as StorageError { error = next }
    }
  }
}
