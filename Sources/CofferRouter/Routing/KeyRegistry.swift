import Coffer
import CofferCore
import CofferSecrets

/// A key that is declared outside of catalogs, and is accepted once catalogs are registered.
package protocol UncataloguedKey {}

/// The keys of a router, by their names.
///
/// The names are compared as text, not as bytes, so that two names that differ only in their Unicode form are found to
/// be duplicates. A family has one record, whose name is its prefix.
final class KeyRegistry: Sendable {
  /// The declaration of a key and what is derived from it. A class, so that a lookup copies one reference.
  final class Record: Sendable {
    let key: KeyName
    let descriptor: StorageKeyDescriptor
    let valueType: ObjectIdentifier
    /// A key of the declaration.
    let declaredKey: any StorageKey
    /// The name of the key's catalog; `nil` for a key that was used without one.
    let catalog: String?
    /// The reason why the key cannot be used on this platform, or `nil` if it can.
    let obstacle: StorageError?
    /// The attributes that are stored with the key's values.
    let attributes: ValueAttributes
    /// Whether the key may be used without a catalog once catalogs are registered.
    let isExempt: Bool
    /// The versions of the key's values; `nil` if they have none.
    let schema: DeclaredSchema?
    /// The store of the key if it can be located; domains can differ and be one store.
    let location: Location
    var isFamily: Bool { descriptor.family != nil }
    /// The declared sync policy; never for a key that exists on one kind of device only.
    var declaredSyncPolicy: SyncPolicy { descriptor.availability.allowsSync ? descriptor.syncPolicy : .never }

    enum Location: Hashable {
      case located(DomainLocation)
      case unknown(StorageDomain)
    }

    init(_ any: AnyStorageKey, catalog: String?, _ configuration: StorageConfiguration) throws {
      key = try KeyName(any.descriptor.name)
      schema = try any.key.declaredSchema()
      location =
        (try? DomainLocation(any.descriptor.domain, configuration)).map { .located($0) }
        ?? .unknown(any.descriptor.domain)
      descriptor = any.descriptor
      declaredKey = any.key
      valueType = ObjectIdentifier(any.valueType)
      self.catalog = catalog
      isExempt = any.key is any UncataloguedKey
      obstacle = any.descriptor.obstacle(configuration)
      if case .keychain(let accessibility, let control) = any.descriptor.security, !configuration.isInMemory {
        attributes = ValueAttributes(accessibility, control)
      } else {
        attributes = .none
      }
    }
  }

  /// A record, and the resolved key once its store is open.
  typealias Entry = (record: Record, resolved: StorageRouter.ResolvedKey?)

  private struct State {
    /// The entries of each name, of which there are several if keys of different stores have the same name.
    var entries: [String: [Entry]] = [:]
    /// The records of families, which claim more names than their own.
    var families: [Record] = []
    /// The resolved keys whose declarations have been compared with their records, by the identity of the declaration.
    var resolved: [ObjectIdentifier: StorageRouter.ResolvedKey] = [:]
    var catalogs: [any StorageKeyCatalog] = []
    var overrides: [String: SyncPolicy] = [:]

    func entry(_ name: String, _ domain: StorageDomain) -> Entry? {
      entries[name]?.first { $0.record.descriptor.domain == domain }
    }

    /// Adds a record, or replaces that of the same declaration.
    mutating func insert(_ record: Record) throws {
      try record.checkPassphrase(besides: entries.values.joined().lazy.map(\.record))
      try record.checkKeyMaterial(besides: entries.values.joined().lazy.map(\.record))
      let name = record.descriptor.name
      var others = entries[name] ?? []
      let replaced = others.firstIndex { record.replaces($0.record) }
      let old = replaced.map { others.remove(at: $0) }
      let related =
        record.isFamily ? entries.values.joined().map(\.record) : others.map(\.record) + families
      for other in related where other !== old?.record { try record.refuseCollision(with: other) }
      // A key that was used without its migration has not been migrated.
      let isSettled = old?.record.descriptor.hasMigration == record.descriptor.hasMigration
      let resolved = isSettled ? old?.resolved : nil
      others.append((record, resolved.map { StorageRouter.ResolvedKey(record, $0.store, of: record.declaredKey) }))
      entries[name] = others
      if record.isFamily { families = families.filter { $0 !== old?.record } + [record] }
      // The encryption comes before a store with its first encrypted key.
      if record.descriptor.isEncrypted { forgetStores { $0.location == record.location } }
    }

    /// Releases the open stores of keys.
    mutating func forgetStores(where isForgotten: (Record) -> Bool) {
      resolved = resolved.filter { !isForgotten($0.value.record) }
      for (name, known) in entries where known.contains(where: { $0.resolved != nil && isForgotten($0.record) }) {
        entries[name] = known.map { ($0.record, isForgotten($0.record) ? nil : $0.resolved) }
      }
    }
  }

  private let state = Locked(State())
  private let configuration: StorageConfiguration
  /// What the keys declare, by their stores.
  let declarations = Declarations()

  init(_ configuration: StorageConfiguration) { self.configuration = configuration }

  // MARK: Looking up

  /// Returns the resolved key of a declaration that was looked up before, with one dictionary access.
  func resolved(of declaration: (any AnyObject & Sendable)?) -> StorageRouter.ResolvedKey? {
    guard let declaration else { return nil }
    return state.withLock(passing: ObjectIdentifier(declaration)) { $0.resolved[$1] }
  }

  /// Returns the record of a key after comparing the two; adds a record if there is none.
  /// - Throws: `StorageError`: `unregisteredKey`, `duplicateKey`, or the reason why the declaration cannot be used.
  func find<K: StorageKey>(_ key: K) throws -> Entry {
    let (found, isRefused) = state.withLock { state in
      let found = state.entry(key.declaredName, key.domain)
      return (found, found?.record.catalog == nil && !state.catalogs.isEmpty)
    }
    // The keys of older values belong to no catalog.
    if isRefused, !(key is any UncataloguedKey), MigrationScope.current(self) == nil { try refuseUnregistered(key) }
    let present = try found ?? add(key)
    try check(key, present.record)
    return present
  }

  private func add<K: StorageKey>(_ key: K) throws -> Entry {
    let any = AnyStorageKey(key)
    try key.family?.check()
    try any.descriptor.check(needsWords: false, configuration)
    let record = try Record(any, catalog: nil, configuration)
    return try state.withLock { state throws in
      if let present = state.entry(key.declaredName, key.domain) { return present }
      try state.insert(record)
      declarations.add(record)
      return (record, nil)
    }
  }

  /// Returns a resolved key if it is known and agrees with its record; `nil` in all other cases, without a reason.
  func known(
    _ name: String, _ type: ObjectIdentifier, _ domain: StorageDomain, isFamily: Bool
  ) -> StorageRouter.ResolvedKey? {
    let present = state.withLock { state in
      state.entry(name, domain).flatMap {
        $0.record.catalog == nil && !$0.record.isExempt && !state.catalogs.isEmpty ? nil : $0
      }
    }
    guard let found = present, found.resolved != nil, found.record.valueType == type,
      found.record.isFamily == isFamily, found.record.obstacle == nil,
      found.record.descriptor.name.utf8.elementsEqual(name.utf8)
    else { return nil }
    return found.resolved
  }

  /// Stores a resolved key for its first declaration object only: a declaration that is created for each use would
  /// never be looked up again.
  func keep(_ resolved: StorageRouter.ResolvedKey) {
    state.withLock { state in
      let name = resolved.record.descriptor.name
      guard let index = state.entries[name]?.firstIndex(where: { $0.record === resolved.record }),
        state.entries[name]?[index].resolved?.declaration == nil
      else { return }
      state.entries[name]?[index].resolved = resolved
      if let declaration = resolved.declaration { state.resolved[ObjectIdentifier(declaration)] = resolved }
    }
  }

  /// Releases the open stores of keys.
  func forgetStores(where isForgotten: (Record) -> Bool = { _ in true }) {
    state.withLock { $0.forgetStores(where: isForgotten) }
  }

  private func check<K: StorageKey>(_ key: K, _ record: Record) throws {
    let known = record.descriptor
    guard record.valueType == ObjectIdentifier(K.Value.self), known.family == key.family?.idType else {
      throw StorageError(
        .duplicateKey,
        "The key is declared twice in \(known.domain): as \(known.valueType)\(known.family.map { " by \($0)" } ?? ""), "
          + "and as \(K.Value.self)\(key.family.map { " by \($0.idType)" } ?? "").",
        advice: "Give one of them another name. Nothing was read or written.", key: record.key)
    }
    // Two Unicode forms of one name would be one key here and two keys in the store.
    guard known.name.utf8.elementsEqual(key.declaredName.utf8), known.security == key.security,
      known.isSensitive == key.isSensitive, known.availability == key.availability,
      known.hasMigration == (key.migration != nil)
    else {
      throw StorageError(
        .duplicateKey,
        "The key is declared twice, with different bytes of the name or different protection.",
        advice: "Give one of them another name. Nothing was read or written.", key: record.key)
    }
    guard (try key.schema).map({ SchemaMark($0.name, $0.version) }) == known.schema else {
      throw StorageError(
        .duplicateKey, "The key is declared twice, with different versions of its values.",
        advice: "Declare its schema once. Nothing was read or written.", key: record.key)
    }
    if let obstacle = record.obstacle { throw obstacle.locating(at: "", key: record.key) }
  }

  private func refuseUnregistered(_ key: some StorageKey) throws {
    let name = key.declaredName
    let domains = state.withLock { $0.entries[name] ?? [] }.map(\.record).filter { $0.catalog != nil }
      .map(\.descriptor.domain.description)
    let other = domains.isEmpty ? "" : "; that of this name in \(domains.joined(separator: ", ")) is another key"
    let message = "The key '\(name.escapingControlCharacters)' in \(key.domain) is in no catalog\(other)."
    switch configuration.unregisteredKeys {
    case .allow: return
    case .refuse: assertionFailure(message + " Add it to the catalog of its owner.")
    case .throwError: break
    }
    throw StorageError(
      .unregisteredKey, message, advice: "Add it to the catalog of its owner. Nothing was read or written.")
  }

  // MARK: Registering

  /// Adds all keys of a catalog, or none of them if one is invalid.
  func register(_ catalog: any StorageKeyCatalog) throws {
    let keys = catalog.allKeys
    let records = try keys.map { key in
      try key.key.family?.check()
      try key.descriptor.check(needsWords: true, configuration)
      return try Record(key, catalog: catalog.name, configuration)
    }
    try state.withLock { state throws in
      guard !state.catalogs.contains(where: { $0.name == catalog.name }) else {
        throw StorageError(
          .duplicateKey, "The catalog \(catalog.name) is already registered.",
          advice: "Register each catalog once. Nothing was changed.")
      }
      var next = state
      for record in records { try next.insert(record) }
      next.resolved = [:]  // These were compared with the previous records.
      next.catalogs.append(catalog)
      state = next
      records.forEach(declarations.add)
    }
  }

  // MARK: Lists

  var catalogs: [any StorageKeyCatalog] { state.withLock { $0.catalogs } }

  /// All keys that are registered or were used.
  var all: [Record] { state.withLock { $0.entries.values.joined().map(\.record) } }

  /// The keys of all catalogs, in the order of their names and domains.
  var registered: [Record] {
    state.withLock { $0.entries.values.joined().map(\.record).filter { $0.catalog != nil } }.sorted {
      ($0.key, $0.descriptor.domain.description) < ($1.key, $1.descriptor.domain.description)
    }
  }

  // MARK: Sync policies

  func setOverrides(_ overrides: [String: SyncPolicy]) { state.withLock { $0.overrides = overrides } }

  /// Returns the other registered keys that share names with a key; they are in different stores, and none is synced.
  func namesakes(of record: Record) -> [Record] {
    guard record.catalog != nil else { return [] }
    return state.withLock { state in
      let related =
        record.isFamily
        ? state.entries.values.joined().map(\.record)
        : (state.entries[record.descriptor.name] ?? []).map(\.record) + state.families
      return related.filter { $0 !== record && $0.catalog != nil && $0.sharesNames(with: record) }
    }
  }

  /// Returns the current sync policy of a key.
  func syncPolicy(_ record: Record) -> SyncPolicy {
    // An override may date from before the key became a secret.
    guard !record.descriptor.isSensitive, !record.descriptor.isEncrypted else { return .never }
    guard let override = state.withLock({ $0.overrides[record.descriptor.name] }) else {
      return record.declaredSyncPolicy
    }
    // Overrides are stored by name, and may date from before another store had a key of this name.
    return namesakes(of: record).isEmpty ? override : .never
  }

  /// Returns whether changes of a name in a store are sent automatically.
  func sendsAutomatically(_ key: KeyName, in location: DomainLocation) -> Bool {
    guard let record = declarations.at(location).record(of: key) else { return false }
    return record.catalog != nil && syncPolicy(record) == .automaticSmall
  }
}
