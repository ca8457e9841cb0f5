public import CofferCore
import CofferCrypto
import CofferLocks
import Foundation

/// A decorator that encrypts the values of any store, and on request hides the names of its keys.
///
/// ```swift
/// let files = try await SlotEngine.files(in: directory)
/// let engine = try await EncryptedEngine.open(files, key: .systemdCredential("shop-key"))
/// let store = TypedStore(engine: engine)
/// ```
///
/// Each value is sealed in an envelope of its own, which is bound to the store, the key and the attributes: a value
/// that was changed, or moved to another key or store, is `damaged` when it is read, and others are not affected.
/// Attributes stay in plain, so that the store can remove expired values. So do the sizes of values, unless
/// ``EncryptionSettings/padsValues`` is set, and the names of keys, unless ``EncryptionSettings/hidesNames`` is.
///
/// The keys of the values are in a key ring, which the store keeps in two system records, sealed under the key with
/// which it is opened. Each commit depends on the ring, so that no process uses a key that another one has replaced.
///
/// With hidden names, the store holds a keyed hash instead of each name. Listings are in the order of the names, from
/// an index in memory; clearing a prefix removes each key by itself. Everything that callers receive has the names:
/// entries, commits, errors. What the store itself reports does not: its events, and everything that `as(_:)` reaches.
public final class EncryptedEngine: EngineDecorator {
  public let base: any StorageEngine
  public let capabilities: StoreCapabilities
  let ciphers: CipherSource
  /// Whether the store holds hashes instead of names.
  let hidesNames: Bool
  let submissions = SubmissionQueue()
  private let indexer: NameIndexer

  /// Creates the engine of a store whose key ring was opened.
  package init(
    _ open: OpenKeyRing, in store: KeyRingStore, readAt revision: StoreRevision,
    configuration: EncryptionConfiguration = EncryptionConfiguration()
  ) throws {
    base = store.engine
    try Self.check(base, open.ring.settings, configuration)
    ciphers = try CipherSource(open, in: store, readAt: revision, configuration)
    indexer = NameIndexer(base)
    hidesNames = open.ring.settings.hidesNames
    capabilities = Self.capabilities(
      base.capabilities, open.ring, encryptsAll: configuration.isEncrypted == nil)
  }

  /// Opens an encrypted store, or makes an empty store an encrypted one.
  ///
  /// A store that is open for reading only is opened as it is, and nothing is created.
  /// - Parameters:
  ///   - base: the engine of the store. It is closed with the encrypted one.
  ///   - key: the source of the key that seals the key ring of the store.
  ///   - configuration: the options. The settings are those of a new key ring; an existing one has its own.
  /// - Throws: `wrongPassphrase` for another key; `notFound` for a store that holds values and has no key ring, so that
  ///   values whose key ring was lost are not taken for plain ones; `damaged` or `newerFormat` for the key ring;
  ///   `unsupported` for a base that cannot be encrypted; the errors of the source. The store is unchanged then.
  public static func open(
    _ base: any StorageEngine, key: RootKeySource, configuration: EncryptionConfiguration = EncryptionConfiguration()
  ) async throws -> EncryptedEngine {
    let missing = try await missing(in: base, configuration)
    return try await open(base, configuration) {
      try await $0.open(with: key, settings: configuration.settings, ifMissing: missing)
    }
  }

  /// Returns whether a store without a key ring receives one: beside plain values only for single keys. A store with
  /// envelopes has lost its ring.
  private static func missing(
    in base: any StorageEngine, _ configuration: EncryptionConfiguration
  ) async throws -> KeyRingStore.Missing {
    guard configuration.isEncrypted != nil, base.capabilities.contains([.snapshots, .listing]) else {
      return .create
    }
    // A damaged record is repaired or reported when the ring is opened.
    do { if try await base.record(KeyRingStore.record) != nil { return .create } } catch { return .create }
    let isPlain = try await base.withSnapshot { snapshot in
      try await snapshot.allSummaries().allSatisfy { !$0.attributes.isMarked }
    }
    return isPlain ? .createBesidePlainValues : .create
  }

  /// Opens an encrypted store with a root key that is derived already.
  /// - Parameters:
  ///   - missing: what happens if the store has no key ring; by default it receives one unless it holds values that
  ///     have to be encrypted.
  ///   - root: returns the root key.
  package static func open(
    _ base: any StorageEngine, ifMissing missing: KeyRingStore.Missing? = nil,
    configuration: EncryptionConfiguration = EncryptionConfiguration(),
    root: (RootKeyDerivation?) async throws -> RootKey
  ) async throws -> EncryptedEngine {
    let missing = if let missing { missing } else { try await self.missing(in: base, configuration) }
    return try await open(base, configuration) {
      try await $0.open(settings: configuration.settings, ifMissing: missing, root: root)
    }
  }

  private static func open(
    _ base: any StorageEngine, _ configuration: EncryptionConfiguration,
    _ ring: (KeyRingStore) async throws -> OpenKeyRing
  ) async throws -> EncryptedEngine {
    try check(base, configuration.settings, configuration)
    let (store, revision) = (try KeyRingStore(base), base.latestRevision)
    return try EncryptedEngine(try await ring(store), in: store, readAt: revision, configuration: configuration)
  }

  private static func check(
    _ base: any StorageEngine, _ settings: EncryptionSettings, _ configuration: EncryptionConfiguration
  ) throws {
    guard base.as(EncryptedEngine.self) == nil else {
      throw StorageError.unsupported(
        "encryption twice", advice: "Encrypt the store behind it only.", location: base.description)
    }
    guard base.capabilities.contains(.attributes), base.capabilities.contains([.systemRecords]) else {
      throw StorageError.unsupported(
        "encryption, which needs attributes and system records",
        advice: "Encrypt a store in one of the built-in engines.", location: base.description)
    }
    guard settings.hidesNames else { return }
    guard configuration.isEncrypted == nil else {
      throw StorageError.unsupported(
        "hidden names of some values only", advice: "Encrypt all values, or keep the names.",
        location: base.description)
    }
    guard base.capabilities.contains([.snapshots, .listing, .replay]) else {
      throw StorageError.unsupported(
        "hidden names, which need snapshots, listings and replay", advice: "Keep the names.",
        location: base.description)
    }
  }

  private static func capabilities(
    _ base: StoreCapabilities, _ ring: KeyRing, encryptsAll: Bool
  ) -> StoreCapabilities {
    // The types of plain values beside encrypted ones are those of the store.
    var features = encryptsAll ? base.features.subtracting(.propertyLists) : base.features
    let pads = ring.settings.padsValues
    if pads, encryptsAll, ring.phase == .complete { features.insert(.secrecy) }
    return StoreCapabilities(features, maximumValueSize: maximumValueSize(in: base.maximumValueSize, isPadded: pads))
  }

  /// Returns the size of the largest value whose envelope has at most `limit` bytes.
  private static func maximumValueSize(in limit: Int, isPadded: Bool) -> Int {
    var (fitting, tooLarge) = (0, max(1, limit))
    while tooLarge - fitting > 1 {
      let size = (fitting + tooLarge) / 2
      if size + Envelope.maximumOverhead(of: size, isPadded: isPadded) <= limit {
        fitting = size
      } else {
        tooLarge = size
      }
    }
    return fitting
  }

  /// The newest known state of the key ring.
  var cipher: StoreCipher { ciphers.current }

  // MARK: Reading

  public func entry(_ key: StoreKey) async throws -> StoreEntry? {
    guard hidesNames else {
      return try await opening { cipher in try await self.base.entry(key).map { try cipher.open($0, of: key) } }
    }
    let cipher = cipher
    guard !cipher.isTransitional else { return try await entries([key])[0] }
    let stored = try cipher.storedKeys(of: key)[0]
    let entry = try await renaming([key], cipher) { try await self.base.entry(stored) }
    if let entry, let opened = try? cipher.open(entry, of: key) { return opened }
    // An absent value may be stored under its name by now, and another one may need a newer ring.
    return entry == nil && ciphers.isCurrent ? nil : try await entries([key])[0]
  }

  public func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    try await entries(keys) { try await base.entries($0) }
  }

  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? {
    try await summary(of: key) { try await base.summary(of: $0) }
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await base.withSnapshot { try await body(EncryptedSnapshot($0, of: self, at: clock.now())) }
  }

  /// Calls `body`, which reads and opens entries, and again with a newer state of the key ring if one does not open.
  ///
  /// Another process may have replaced value and key together after the value was read: one more reading decides.
  func opening<R>(_ body: (StoreCipher) async throws -> R) async throws -> R {
    var isLast = false
    while true {
      let cipher = cipher
      do {
        let result = try await body(cipher)
        // Whether plain values are accepted must not depend on an old state of the ring.
        guard cipher.isTransitional, !ciphers.isCurrent else { return result }
        if try await ciphers.reload(after: cipher) === cipher { return result }
      } catch StoreCipher.Failure.unopened(let error) {
        let isUnchanged = try await ciphers.reload(after: cipher, orThrow: error) === cipher
        if isUnchanged, isLast { throw error }
        isLast = isUnchanged
      }
    }
  }

  /// Reads entries of stored keys with `read` and opens them.
  func entries(
    _ names: [StoreKey], _ read: ([StoreKey]) async throws -> [StoreEntry?]
  ) async throws -> [StoreEntry?] {
    try await opening { cipher in
      guard hidesNames else {
        return try zip(names, try await read(names)).map { name, entry in
          try entry.map { try cipher.open($0, of: name) }
        }
      }
      return try await confirmingAbsence(cipher) { cipher in
        let keys = try names.flatMap { try cipher.storedKeys(of: $0) }
        let entries = try await renaming(names, cipher) { try await read(keys) }
        let count = keys.count / max(1, names.count)
        return try names.indices.map { index in
          try entries[index * count..<(index + 1) * count].lazy.compactMap { $0 }.first.map {
            try cipher.open($0, of: names[index])
          }
        }
      } isAbsent: {
        $0.contains { $0 == nil }
      }
    }
  }

  /// Reads the summary of a stored key with `read`.
  func summary(
    of name: StoreKey, _ read: (StoreKey) async throws -> StoreEntrySummary?
  ) async throws -> StoreEntrySummary? {
    guard hidesNames else { return try await read(name).map { cipher.summary($0, of: name) } }
    return try await confirmingAbsence(cipher) { cipher in
      for key in try cipher.storedKeys(of: name) {
        let summary = try await renaming([name], cipher) { try await read(key) }
        if let summary { return cipher.summary(summary, of: name) }
      }
      return nil
    } isAbsent: {
      $0 == nil
    }
  }

  /// Calls `read`, and again if something is absent and the ring has changed: a value whose name is hidden or shown
  /// meanwhile is stored under another key.
  private func confirmingAbsence<R>(
    _ cipher: StoreCipher, _ read: (StoreCipher) async throws -> R, isAbsent: (R) -> Bool
  ) async throws -> R {
    var cipher = cipher
    while true {
      let result = try await read(cipher)
      guard isAbsent(result), !ciphers.isCurrent else { return result }
      let next = try await ciphers.reload(after: cipher)
      if next === cipher { return result }
      cipher = next
    }
  }

  /// Calls `body` and names the keys in its errors as callers do.
  func renaming<R>(_ names: [StoreKey], _ cipher: StoreCipher, _ body: () async throws -> R) async throws -> R {
    do { return try await body() } catch let error as StorageError {
      throw error.renaming { key in names.first { (try? cipher.storedKeys(of: $0).contains(key)) ?? false } }
    }
  }

  /// Returns the index of a snapshot of the base.
  /// - Parameter withExpired: whether the snapshot has expired values as well.
  func nameIndex(
    of snapshot: any StorageSnapshot, at date: Date, withExpired: Bool
  ) async throws -> NameIndex {
    let indexer = withExpired ? NameIndexer(base) : indexer
    return try await opening { cipher in
      try await indexer.index(of: snapshot, at: date, cipher.ring.phase) { summary in
        let name = try cipher.name(of: summary.key, summary.attributes)
        return NameIndex.Entry(summary, cipher.summary(summary, of: name))
      } knownName: {
        cipher.names?.knownName(of: $0)
      }
    }
  }
}

extension EncryptedEngine: ExpiringEngine {
  package func withStoredSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    var engine = base
    while !(engine is any ExpiringEngine), let decorator = engine as? any EngineDecorator { engine = decorator.base }
    guard let expiring = engine as? any ExpiringEngine else { return try await withSnapshot(body) }
    return try await expiring.withStoredSnapshot { snapshot in
      try await body(EncryptedSnapshot(snapshot, of: self, at: .distantPast, withExpired: true))
    }
  }
}
