import CofferCore

extension TypedStore {
  /// The progress of a migration of all values.
  public struct MigrationState: Hashable, Sendable {
    /// The number of values that had an older version; 0 until they are listed.
    public internal(set) var total = 0
    /// The number of values that have been dealt with.
    public internal(set) var completed = 0
    /// The number of values that this run has migrated; another process may have migrated others.
    public internal(set) var migrated = 0
  }

  /// The outcome of a migration of all values.
  public struct MigrationReport: Sendable {
    /// A value that has stayed as it was.
    public struct Failure: Sendable {
      /// The key of the value.
      public let key: KeyName
      /// The reason.
      public let error: StorageError
    }

    /// The maximum number of values that a report lists.
    static let listLimit = 1_000

    /// The number of values that this run has migrated.
    public internal(set) var migrated = 0
    /// The number of values that had the present version already, or were migrated by another process meanwhile.
    public internal(set) var current = 0
    /// The number of values of a newer version than the present one, which stay as they are.
    public internal(set) var newer = 0
    /// The number of values that could not be migrated, and stay as they are.
    public internal(set) var failed = 0
    /// The first thousand values that are newer or could not be migrated.
    public internal(set) var failures: [Failure] = []

    /// Whether every value has the present version.
    public var isComplete: Bool { newer == 0 && failed == 0 }

    /// Throws the error of the first value that has stayed as it was.
    /// - Throws: `StorageError`: `newerFormat`, `migrationFailed`, `decodingFailed`, `damaged`.
    public func requireComplete() throws {
      guard let first = failures.first?.error else { return }
      let others = newer + failed - 1
      guard others > 0 else { throw first }
      throw StorageError(
        first.code, first.message + " So did \(others) more.", advice: first.advice, location: first.location,
        key: first.key, underlying: first.underlying)
    }

    mutating func add(_ error: StorageError, of key: KeyName) {
      if error.code == .newerFormat { newer += 1 } else { failed += 1 }
      if failures.count < Self.listLimit { failures.append(Failure(key: key, error: error)) }
    }
  }
}
