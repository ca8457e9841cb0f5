import CofferKeychain
import CofferLocks

/// A key that is declared outside of catalogs, and is accepted once catalogs are registered.
protocol UncataloguedKey {}

/// The keys of a router, by their names.
///
/// The names are compared as text, not as bytes, so that two names that differ only in their Unicode form are found to
/// be duplicates.
final class KeyRegistry: Sendable {
  /// The declaration of a key and what is derived from it. A class, so that a lookup copies one reference.
  final class Record: Sendable {
    let key: StoreKey
    let descriptor: StorageKeyDescriptor
    let valueType: ObjectIdentifier
    /// The name of the key's catalog; `nil` for a key that was used without one.
    let catalog: String?
    /// The reason why the key cannot be used on this platform, or `nil` if it can.
    let obstacle: StorageError?
    /// The attributes that are stored with the key's values.
    let attributes: ValueAttributes
    /// Whether the key may be used without a catalog once catalogs are registered.
    let isExempt: Bool

    init(_ any: AnyStorageKey, catalog: String?, _ configuration: StorageConfiguration) throws {
      key = try StoreKey(any.descriptor.name)
      descriptor = any.descriptor
      valueType = ObjectIdentifier(any.valueType)
      self.catalog = catalog
      isExempt = any.key is any UncataloguedKey
      obstacle = any.descriptor.obstacle(on: configuration.platform)
      if case .keychain(let accessibility, _) = any.descriptor.security, !configuration.isInMemory {
        attributes = ValueAttributes(accessibility)
      } else {
        attributes = .none
      }
    }
  }

  /// A record, and the resolved key once its store is open.
  typealias Entry = (record: Record, resolved: StorageRouter.ResolvedKey?)

  private struct State {
    var records: [String: Entry] = [:]
    /// The resolved keys whose declarations have been compared with their records, by the identity of the declaration.
    var resolved: [ObjectIdentifier: StorageRouter.ResolvedKey] = [:]
    var catalogs: [any StorageKeyCatalog] = []
    var overrides: [String: SyncPolicy] = [:]
  }

  private let state = Locked(State())
  private let configuration: StorageConfiguration

  init(_ configuration: StorageConfiguration) { self.configuration = configuration }

  // MARK: Looking up

  /// Returns the resolved key of a declaration that was looked up before, with one dictionary access.
  func resolved(of declaration: (any AnyObject & Sendable)?) -> StorageRouter.ResolvedKey? {
    guard let declaration else { return nil }
    return state.withLock { $0.resolved[ObjectIdentifier(declaration)] }
  }

  /// Returns the record of a key after comparing the two; adds a record if there is none.
  /// - Throws: `StorageError`: `unregisteredKey`, `duplicateKey`, or the reason why the declaration cannot be used.
  func find<K: StorageKey>(_ key: K) throws -> Entry {
    let (found, isRefused) = state.withLock { state in
      let found = state.records[key.name]
      return (found, found?.record.catalog == nil && !state.catalogs.isEmpty)
    }
    if isRefused, !(key is any UncataloguedKey) { try refuseUnregistered(key.name) }
    let present = try found ?? add(key)
    try check(key, present.record)
    return present
  }

  private func add<K: StorageKey>(_ key: K) throws -> Entry {
    let any = AnyStorageKey(key)
    try any.descriptor.check(needsWords: false)
    let record = try Record(any, catalog: nil, configuration)
    return state.withLock { state in
      let present = state.records[key.name] ?? (record, nil)
      state.records[key.name] = present
      return present
    }
  }

  /// Returns a resolved key if it is known and agrees with its record; `nil` in all other cases, without a reason.
  func known(_ name: String, _ type: ObjectIdentifier, _ domain: StorageDomain) -> StorageRouter.ResolvedKey? {
    let present = state.withLock { state in
      state.records[name].flatMap {
        $0.record.catalog == nil && !$0.record.isExempt && !state.catalogs.isEmpty ? nil : $0
      }
    }
    guard let found = present, found.resolved != nil, found.record.valueType == type,
      found.record.descriptor.domain == domain, found.record.obstacle == nil,
      found.record.descriptor.name.utf8.elementsEqual(name.utf8)
    else { return nil }
    return found.resolved
  }

  /// Stores a resolved key for its first declaration object only: a declaration that is created for each use would
  /// never be looked up again.
  func keep(_ resolved: StorageRouter.ResolvedKey) {
    state.withLock { state in
      let name = resolved.record.descriptor.name
      guard let entry = state.records[name], entry.record === resolved.record, entry.resolved?.declaration == nil else {
        return
      }
      state.records[name]?.resolved = resolved
      if let declaration = resolved.declaration { state.resolved[ObjectIdentifier(declaration)] = resolved }
    }
  }

  private func check<K: StorageKey>(_ key: K, _ record: Record) throws {
    let known = record.descriptor
    guard record.valueType == ObjectIdentifier(K.Value.self), known.domain == key.domain else {
      throw StorageError(
        .duplicateKey,
        "The key is declared twice: as \(record.descriptor.valueType) in \(record.descriptor.domain), and as "
          + "\(K.Value.self) in \(key.domain).",
        advice: "Give one of them another name. Nothing was read or written.", key: record.key)
    }
    // Two Unicode forms of one name would be one key here and two keys in the store.
    guard known.name.utf8.elementsEqual(key.name.utf8), known.security == key.security,
      known.isSensitive == key.isSensitive, known.availability == key.availability,
      known.hasMigration == (key.migration != nil)
    else {
      throw StorageError(
        .duplicateKey,
        "The key is declared twice, with different bytes of the name or different protection.",
        advice: "Give one of them another name. Nothing was read or written.", key: record.key)
    }
    if let obstacle = record.obstacle { throw obstacle.locating(at: "", key: record.key) }
  }

  private func refuseUnregistered(_ name: String) throws {
    let message = "The key '\(name.escapingControlCharacters)' is in no catalog."
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
      try key.descriptor.check(needsWords: true)
      return try Record(key, catalog: catalog.name, configuration)
    }
    try state.withLock { state throws in
      guard !state.catalogs.contains(where: { $0.name == catalog.name }) else {
        throw StorageError(
          .duplicateKey, "The catalog \(catalog.name) is already registered.",
          advice: "Register each catalog once. Nothing was changed.")
      }
      var added: [String: Entry] = [:]
      for record in records {
        let name = record.descriptor.name
        let old = added[name] ?? state.records[name]
        if let old { try Self.refuseDuplicate(record, old.record, isSameCatalog: added[name] != nil) }
        added[name] = (record, old?.resolved.map { StorageRouter.ResolvedKey(record, $0.store, declaration: nil) })
      }
      state.resolved = [:]  // These were compared with the previous records.
      state.records.merge(added) { $1 }
      state.catalogs.append(catalog)
    }
  }

  private static func refuseDuplicate(_ new: Record, _ old: Record, isSameCatalog: Bool) throws {
    // A key that was used before its catalog was registered is the same key, unless the declarations differ.
    let (before, now) = (old.descriptor, new.descriptor)
    if old.catalog == nil, !isSameCatalog, old.key == new.key, old.valueType == new.valueType,
      before.domain == now.domain, before.security == now.security, before.isSensitive == now.isSensitive
    {
      return
    }
    let first = old.catalog.map { "in \($0)" } ?? "at its first use"
    throw StorageError(
      .duplicateKey,
      "Two keys have the same name: \(old.descriptor.valueType) \(first), and \(new.descriptor.valueType) in "
        + "\(new.catalog ?? "use").",
      advice: "Give one of them another name. No key of the catalog was registered.", key: new.key)
  }

  // MARK: Lists

  var catalogs: [any StorageKeyCatalog] { state.withLock { $0.catalogs } }

  /// The keys of all catalogs, in the order of their names.
  var registered: [Record] {
    state.withLock { $0.records.values.map(\.record).filter { $0.catalog != nil } }.sorted { $0.key < $1.key }
  }

  // MARK: Sync policies

  func setOverrides(_ overrides: [String: SyncPolicy]) { state.withLock { $0.overrides = overrides } }

  func override(of name: String) -> SyncPolicy? { state.withLock { $0.overrides[name] } }

  /// Returns the current sync policy of a key.
  func syncPolicy(_ record: Record) -> SyncPolicy {
    // An override may date from before the key became a secret.
    guard !record.descriptor.isSensitive else { return .never }
    return override(of: record.descriptor.name) ?? record.descriptor.syncPolicy
  }
}
