import CofferCore

extension AnyStorageMigration {
  /// Creates a migration that moves the value of an older key, which may be in another store.
  ///
  /// ```swift
  /// static let token = TypedKey<String>(secret: "token", in: .keychain(), owner: "Account", about: "The session.")
  ///   .migrating { AnyStorageMigration(from: StorageKeys.oldToken, to: $0) }
  /// ```
  ///
  /// The older value is read as its own key declares; the new one is written and verified, and then the older one is
  /// removed. Stores, protections and serializers can differ. If `key` has a value of its own already, that one stays,
  /// and so does the older one: see ``MigrationResult/Outcome/destinationKept``.
  public init<Source: StorageKey, Key: StorageKey>(from source: Source, to key: Key) where Source.Value == Key.Value {
    self.init(from: source, to: key) { $0 }
  }

  /// Creates a migration that converts the value of an older key, and moves it.
  /// - Parameters:
  ///   - source: the older key.
  ///   - key: the key that receives the value.
  ///   - transform: converts an older value. It may run more than once for one value, so it must have no side effects.
  ///     If it throws, both values are unchanged.
  public init<Source: StorageKey, Key: StorageKey>(
    from source: Source, to key: Key, transform: @escaping @Sendable (Source.Value) async throws -> Key.Value
  ) {
    self.init(from: [.key(source)], to: key) { values in
      guard let value = values[source] else { throw MigrationError.sourceNotFound(key: source.name) }
      return try await transform(value)
    }
  }

  /// Creates a migration that makes one value of the values of several older keys.
  ///
  /// ```swift
  /// AnyStorageMigration(from: [.key(first), .key(last)], to: key) { values in
  ///   Name(first: values[first] ?? "", last: values[last] ?? "")
  /// }
  /// ```
  /// - Parameters:
  ///   - sources: the older keys.
  ///   - key: the key that receives the value.
  ///   - combine: makes the new value of the older ones, of which there is at least one. It may run more than once, so
  ///     it must have no side effects. If it throws, all values are unchanged.
  public init<Key: StorageKey>(
    from sources: [AnyStorageKey], to key: Key, combine: @escaping @Sendable (Values) async throws -> Key.Value
  ) {
    let keys = sources.map { "'\($0.key.name.escapingControlCharacters)' in \($0.descriptor.domain)" }
    let name = "from " + keys.joined(separator: ", ")
    (destination, self.name) = (key.name, name)
    check = { router, _ in try await router.hasValue(sources, for: key) }
    run = { router, _ in try await router.move(sources, to: key, name: name, make: combine) { try await $0.run() } }
    resume = { router in
      _ = try await router.move(sources, to: key, name: name, make: combine) { try await $0.resumeRemoval() }
    }
  }

  /// Returns the migration for a key that was last migrated by a version of the application before `version`, or by
  /// none.
  ///
  /// Each key has such a version for itself, ``MigrationContext/previousAppVersion``: a key that version 2 never used
  /// is still migrated by version 3. If it is unknown, the migration runs.
  /// - Parameter version: the first version whose values need no migration, such as `2.0`. Numbers are compared as
  ///   numbers, and missing ones are zero.
  public func before(appVersion version: String) -> AnyStorageMigration {
    AnyStorageMigration(
      destination: destination, name: "\(name), before \(version)",
      check: { [check] router, context in
        if let previous = context.previousAppVersion, !previous.isEmpty {
          guard Self.numbers(of: previous).lexicographicallyPrecedes(Self.numbers(of: version)) else { return false }
        }
        return try await check(router, context)
      }, run: run, resume: resume)
  }

  /// Returns the numbers of a version without zeros at the end: 2.1 and 2.1.0 are the same version.
  private static func numbers(of version: String) -> [Int] {
    let numbers = version.split(separator: ".").map { part in Int(part.prefix(while: \.isNumber)) ?? 0 }
    return Array(numbers.reversed().drop { $0 == 0 }.reversed())
  }

  /// The older values that a migration reads, by their keys.
  public struct Values: Sendable {
    /// Each value with the name and the domain of its key, in the order of the keys.
    var found: [(name: String, domain: StorageDomain, value: any Sendable)] = []

    /// The value of one of the older keys; `nil` if there is none.
    public subscript<K: StorageKey>(key: K) -> K.Value? {
      found.lazy.filter { $0.name == key.name && $0.domain == key.domain }.compactMap { $0.value as? K.Value }.first
    }

    /// The number of the older keys that have a value.
    public var count: Int { found.count }
  }
}

extension StorageRouter {
  /// Returns whether one of a migration's older keys has a value.
  fileprivate nonisolated func hasValue<K: StorageKey>(_ sources: [AnyStorageKey], for key: K) async throws -> Bool {
    try refuseOwnKey(sources, key)
    return try await inMigration(of: key, "") {
      // An interrupted run under another name has removed some or all of them.
      if let engine = try await self.existingStore(of: key.domain)?.engine {
        let log = try await MigrationLog(of: KeyName(key.name), in: engine)
        if log.isInterrupted, log.entry(continuedBy: "", MigrationLog.identities(of: sources)) != nil { return true }
      }
      for source in sources {
        // Not resolved, which would migrate the older key itself.
        let record = try source.key.record(in: self.registry)
        if try await self.awaitsMigration(record) { return true }
        guard let engine = try await self.existingStore(of: source.descriptor.domain)?.engine else { continue }
        if try await !self.storedKeys(of: record, in: engine).isEmpty { return true }
      }
      return false
    }
  }

  /// Moves older values to a key, or continues a move.
  fileprivate nonisolated func move<K: StorageKey, R: Sendable>(
    _ sources: [AnyStorageKey], to key: K, name: String,
    make: @escaping @Sendable (AnyStorageMigration.Values) async throws -> K.Value,
    _ body: @escaping @Sendable (ValueMove<K>) async throws -> R
  ) async throws -> R {
    try refuseOwnKey(sources, key)
    return try await inMigration(of: key, name) {
      // A migration with a condition is recorded under its own name.
      let name = MigrationScope.current(self.registry)?.name ?? name
      return try await body(
        ValueMove(router: self, key: key, sources: sources, name: name) { values in
          do { return try await make(values) } catch let error as MigrationError { throw error } catch let error
            where !(error is CancellationError)
          {
            throw MigrationError.transformFailed(key: key.name, reason: "\(type(of: error)) was thrown")
          }
        })
    }
  }

  /// A key cannot be its own older key: removing the older value would remove the new one.
  private nonisolated func refuseOwnKey<K: StorageKey>(_ sources: [AnyStorageKey], _ key: K) throws {
    for source in sources where source.descriptor.name == key.name {
      guard let old = try? DomainLocation(source.descriptor.domain, configuration) else { continue }
      guard try old != DomainLocation(key.domain, configuration) else {
        throw MigrationError.unsupported(key: key.name)
      }
    }
  }

  /// Runs `body` as the migration of a key, also if the application has called the migration itself.
  private nonisolated func inMigration<K: StorageKey, R: Sendable>(
    of key: K, _ name: String, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    let target = MigrationTarget(try registry.find(key).record)
    if MigrationScope.current(registry)?.isMigrating(target) == true { return try await body() }
    return try await MigrationScope.enter(target, name, registry, body)
  }
}

extension StorageKey {
  fileprivate func record(in registry: KeyRegistry) throws -> KeyRegistry.Record { try registry.find(self).record }
}
