import CofferCore
import CofferPresence
import Foundation

/// The versions of keys that are declared with `versioned(by:)`.
extension StorageRouter {
  /// Restores the bytes and attributes that a value had before it was brought to the present version.
  ///
  /// The next read by this version of the application migrates the value again: use it before the previous version of
  /// the application is installed again.
  /// - Throws: `StorageError`: `notFound` if no old form is kept, or the value was changed after its migration; and the
  ///   errors of `TypedStore.rollback(of:)`.
  public nonisolated func rollback<K: StorageKey>(_ key: K) async throws {
    let resolved = try await resolve(key)
    try await resolved.store.rollback(of: resolved.key)
  }

  /// Restores the old forms of all members of a family, each in a commit of its own.
  /// - Returns: the number of values that were rolled back; those changed after their migration are not.
  /// - Throws: `StorageError`; the values before it are rolled back.
  @discardableResult
  public nonisolated func rollback<ID, Value>(_ family: KeyFamily<ID, Value>) async throws -> Int {
    let resolved = try await resolve(declaration: family.declaration)
    return try await resolved.store.rollback(prefix: resolved.record.key)
  }

  /// Brings the stored values of a key or of all members of a family to the present version. Creates no store.
  /// - Returns: the number of values that were changed.
  nonisolated func migrateVersions<K: StorageKey>(of key: K) async throws -> Int {
    let record = try registry.find(key).record
    guard record.schema != nil, try await mayExist(key.domain) else { return 0 }
    let isWhole = key.name == key.declaredName
    let resolved = isWhole ? try await resolve(declaration: key) : try await resolve(key)
    guard record.isFamily, isWhole else { return try await resolved.store.migrateValue(of: resolved.key) ? 1 : 0 }
    let report = try await resolved.store.migrate(prefix: resolved.record.key)
    if let failure = report.failures.first { throw failure.error }
    return report.migrated
  }

  /// Returns the entries of keys from one state, each that is newer in its kept old form.
  /// - Throws: `migrationNeeded` with the key of an older value.
  nonisolated func presentVersions(
    of keys: [ResolvedKey], in engine: any StorageEngine
  ) async throws -> [StoreEntry?] {
    let kept = keys.map { $0.record.schema == nil ? nil : KeptForms.key(of: $0.key) }
    let found = try await engine.entries(keys.map(\.key) + kept.compactMap { $0 })
    let forms = Dictionary(
      found.dropFirst(keys.count).compactMap { $0.map { ($0.key, $0) } }, uniquingKeysWith: { first, _ in first })
    return try keys.indices.map { index in
      try found[index].map { try keys[index].inPresentVersion($0, kept: kept[index].flatMap { forms[$0] }) }
    }
  }
}

extension StorageKey {
  /// Brings the key to its present form: runs its migration, and brings its values to the present version.
  func migrated(by router: StorageRouter) async throws {
    // A key of another platform has no values here.
    if migration == nil, StorageKeyDescriptor(self).obstacle(router.configuration) != nil { return }
    if migration != nil { _ = try await router.resolve(declaration: self) }
    _ = try await router.migrateVersions(of: self)
  }
}

extension StorageKeyDescriptor {
  /// Whether stored values may have an older form, in another key or of another version.
  var mayBeOlder: Bool { hasMigration || schema != nil }
}

extension StorageRouter.ResolvedKey {
  /// Refuses versions in a store that cannot record them.
  func checkVersions() throws {
    guard record.schema != nil, !store.engine.isReadOnly else { return }
    guard
      store.engine.capabilities.contains([.attributes, .preconditions, .revisions, .atomicBatches, .snapshots])
    else {
      throw StorageError.unsupported(
        "versions of values", advice: "Give the key a domain with one of the built-in engines.",
        location: store.engine.description)
    }
  }

  /// Returns a value with the mark of the present version, if the key has versions.
  func marked(_ encoded: EncodedValue) -> EncodedValue {
    guard let schema = record.schema else { return encoded }
    return EncodedValue(encoded.data, schema.mark.merging(encoded.attributes))
  }

  /// Returns whether a value has the present version.
  /// - Throws: `newerFormat` for a later one; `decodingFailed` for a value of another schema.
  func isPresent(_ attributes: ValueAttributes) throws -> Bool {
    guard let schema = record.schema else { return true }
    return try schema.storedVersion(attributes, of: key, at: store.engine.description) == schema.version
  }

  /// - Throws: `migrationNeeded` for an older version; the errors of `isPresent(_:)`.
  func checkVersion(_ attributes: ValueAttributes) throws {
    guard try !isPresent(attributes) else { return }
    throw StorageError(
      .migrationNeeded, "The value has an older version.",
      advice: "It is unchanged. Read it with get(_:), which migrates it.", location: store.engine.description, key: key)
  }

  /// Returns the kept old form of a newer value, if it belongs to the value and has the present version.
  func oldForm(_ kept: Data?, replacedBy data: Data) throws -> EncodedValue? {
    guard let old = try OldForm(kept, of: key, replacedBy: data, at: store.engine.description),
      try isPresent(old.attributes)
    else { return nil }
    return EncodedValue(old.data, old.attributes)
  }

  /// Returns an entry, or its kept old form if it is newer.
  func inPresentVersion(_ entry: StoreEntry, kept: StoreEntry?) throws -> StoreEntry {
    do { try checkVersion(entry.attributes) } catch let error as StorageError where error.code == .newerFormat {
      guard let old = try oldForm(kept?.value, replacedBy: entry.value) else { throw error }
      return StoreEntry(key: entry.key, value: old.data, revision: entry.revision, attributes: old.attributes)
    }
    return entry
  }

  /// Returns members of this family, each that is newer in its kept old form.
  func inPresentVersion(_ page: [StoreEntry], of snapshot: any StorageSnapshot) async throws -> [StoreEntry] {
    guard record.schema != nil else { return page }
    var present: [StoreEntry] = []
    for entry in page {
      let member = member(entry.key)
      var kept: StoreEntry?
      if let keptKey = KeptForms.key(of: entry.key), (try? member.isPresent(entry.attributes)) == nil {
        kept = try await snapshot.entries([keptKey])[0]
      }
      present.append(try member.inPresentVersion(entry, kept: kept))
    }
    return present
  }
}
