import CofferKeychain
import CofferLocks

/// A key whose declaration is somewhere else than in a catalog.
protocol UncataloguedKey {}

/// The keys that a router knows, by their names.
///
/// The names are compared as text, not as bytes: two that differ in their Unicode form only are one name too many.
final class KeyRegistry: Sendable {
  /// What is known of a key, in one piece: a lookup copies one reference.
  final class Record: Sendable {
    let key: StoreKey
    let descriptor: StorageKeyDescriptor
    let valueType: ObjectIdentifier
    /// The catalog that has it; `nil` for a key that was used without one.
    let catalog: String?
    /// Why it cannot be used here, if it cannot.
    let obstacle: StorageError?
    /// What is stored with its values.
    let attributes: ValueAttributes
    /// Whether it may be used without a catalog, once there are some.
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

  /// A record, and where its key is once its home is open.
  typealias Entry = (record: Record, place: StorageRouter.Place?)

  private struct State {
    var records: [String: Entry] = [:]
    /// Where keys are that have been compared with their records already, by their declarations.
    var places: [ObjectIdentifier: StorageRouter.Place] = [:]
    var catalogs: [any StorageKeyCatalog] = []
    var overrides: [String: SyncPolicy] = [:]
  }

  private let state = Locked(State())
  private let configuration: StorageConfiguration

  init(_ configuration: StorageConfiguration) { self.configuration = configuration }

  // MARK: Looking up

  /// Where a key is that was looked up before, in one step.
  func place(of declaration: (any AnyObject & Sendable)?) -> StorageRouter.Place? {
    guard let declaration else { return nil }
    return state.withLock { $0.places[ObjectIdentifier(declaration)] }
  }

  /// What is known of a key, after it was compared with that.
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

  /// The same without a word of what is wrong; `nil` says nothing.
  func known(_ name: String, _ type: ObjectIdentifier, _ domain: StorageDomain) -> StorageRouter.Place? {
    let present = state.withLock { state in
      state.records[name].flatMap {
        $0.record.catalog == nil && !$0.record.isExempt && !state.catalogs.isEmpty ? nil : $0
      }
    }
    guard let found = present, found.place != nil, found.record.valueType == type,
      found.record.descriptor.domain == domain, found.record.obstacle == nil,
      found.record.descriptor.name.utf8.elementsEqual(name.utf8)
    else { return nil }
    return found.place
  }

  /// Remembers where a key is, by the first of its declarations: one that each use makes anew would never be met again.
  func keep(_ place: StorageRouter.Place) {
    state.withLock { state in
      let name = place.record.descriptor.name
      guard let entry = state.records[name], entry.record === place.record, entry.place?.declaration == nil else {
        return
      }
      state.records[name]?.place = place
      if let declaration = place.declaration { state.places[ObjectIdentifier(declaration)] = place }
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
    // Two Unicode forms of one name would be one key here and two in its home.
    guard known.name.utf8.elementsEqual(key.name.utf8), known.security == key.security,
      known.isSensitive == key.isSensitive, known.availability == key.availability,
      known.hasMigration == (key.migration != nil)
    else {
      throw StorageError(
        .duplicateKey,
        "The key is declared twice, and the two differ in their names' bytes or in how they are secured.",
        advice: "Give one of them another name. Nothing was read or written.", key: record.key)
    }
    if let obstacle = record.obstacle { throw obstacle.locating(backend: "", key: record.key) }
  }

  private func refuseUnregistered(_ name: String) throws {
    let message = "No catalog has the key '\(name.escapingControlCharacters)'."
    switch configuration.unregisteredKeys {
    case .allow: return
    case .refuse: assertionFailure(message + " Add it to the catalog of its owner.")
    case .throwError: break
    }
    throw StorageError(
      .unregisteredKey, message, advice: "Add it to the catalog of its owner. Nothing was read or written.")
  }

  // MARK: Registering

  /// Adds all keys of a catalog, or none.
  func register(_ catalog: any StorageKeyCatalog) throws {
    let keys = catalog.allKeys
    let records = try keys.map { key in
      try key.descriptor.check(needsWords: true)
      return try Record(key, catalog: catalog.name, configuration)
    }
    try state.withLock { state throws in
      guard !state.catalogs.contains(where: { $0.name == catalog.name }) else {
        throw StorageError(
          .duplicateKey, "The catalog \(catalog.name) is registered already.",
          advice: "Register each catalog once. Nothing was changed.")
      }
      var added: [String: Entry] = [:]
      for record in records {
        let name = record.descriptor.name
        let old = added[name] ?? state.records[name]
        if let old { try Self.refuseDuplicate(record, old.record, isSameCatalog: added[name] != nil) }
        added[name] = (record, old?.place.map { StorageRouter.Place(record, $0.store, declaration: nil) })
      }
      state.places = [:]  // What was compared with the records of before.
      state.records.merge(added) { $1 }
      state.catalogs.append(catalog)
    }
  }

  private static func refuseDuplicate(_ new: Record, _ old: Record, isSameCatalog: Bool) throws {
    // A key that was used before its catalog came is the same key, unless it says something else.
    let (before, now) = (old.descriptor, new.descriptor)
    if old.catalog == nil, !isSameCatalog, old.key == new.key, old.valueType == new.valueType,
      before.domain == now.domain, before.security == now.security, before.isSensitive == now.isSensitive
    {
      return
    }
    let first = old.catalog.map { "in \($0)" } ?? "where it was used first"
    throw StorageError(
      .duplicateKey,
      "Two keys have the same name: \(old.descriptor.valueType) \(first), and \(new.descriptor.valueType) in "
        + "\(new.catalog ?? "use").",
      advice: "Give one of them another name. No key of the catalog was registered.", key: new.key)
  }

  // MARK: Lists

  var catalogs: [any StorageKeyCatalog] { state.withLock { $0.catalogs } }

  /// What catalogs have, by name.
  var registered: [Record] {
    state.withLock { $0.records.values.map(\.record).filter { $0.catalog != nil } }.sorted { $0.key < $1.key }
  }

  // MARK: Sync policies

  func setOverrides(_ overrides: [String: SyncPolicy]) { state.withLock { $0.overrides = overrides } }

  func override(of name: String) -> SyncPolicy? { state.withLock { $0.overrides[name] } }

  /// What holds for a key now.
  func syncPolicy(_ record: Record) -> SyncPolicy {
    // Whatever somebody has said before the key became a secret.
    guard !record.descriptor.isSensitive else { return .never }
    return override(of: record.descriptor.name) ?? record.descriptor.syncPolicy
  }
}
