public import CofferCore
import Foundation

/// A decorator that encrypts the values of any store, and on request hides the names of its keys.
///
/// ```swift
/// let files = try await SlotEngine.files(in: directory)
/// let engine = try await EncryptedEngine.open(files, key: .systemdCredential("shop-key"))
/// let store = TypedStore(engine: engine)
/// ```
///
/// Each value is sealed in an envelope of its own, which is bound to the store, the key and the attributes. A value
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
  public let description: String
  public let clock: StoreClock
  let ciphers: CipherSource
  /// Whether the store holds hashes instead of names.
  let hidesNames: Bool
  let indexer: NameIndexer
  /// The comparison with an anchor; `nil` without one.
  let rollback: RollbackGuard?
  let automaticRotation: AutomaticRotation?
  /// The continuation of an earlier process's ``shred(dryRun:from:)``.
  let shredding = Locked<Task<Void, Never>?>(nil)

  /// Creates the engine of a store whose key ring was opened.
  private init(
    _ open: OpenKeyRing, in store: KeyRingStore, readAt position: JournalPosition,
    _ configuration: EncryptedEngine.Configuration, _ rollback: RollbackGuard?, serving phase: KeyRing.Phase
  ) throws {
    base = store.engine
    (description, clock) = (base.description, base.clock)
    self.rollback = rollback
    try Self.check(base, open.ring.settings)
    ciphers = try CipherSource(open, in: store, readAt: position, configuration, rollback, serving: phase)
    indexer = NameIndexer(base)
    hidesNames = open.ring.settings.hidesNames
    capabilities = Self.capabilities(base.capabilities, open.ring)
    let canRotate = !base.isReadOnly && base.capabilities.contains([.listing, .snapshots])
    automaticRotation = canRotate ? configuration.automaticRotation.map { AutomaticRotation($0) } : nil
  }

  deinit { automaticRotation?.cancel() }

  /// Opens an encrypted store, or makes an empty store an encrypted one.
  ///
  /// A store that is open for reading only is opened as it is, and nothing is created.
  /// - Parameters:
  ///   - base: the engine of the store. It is closed with the encrypted one.
  ///   - key: the source of the key that seals the key ring of the store.
  ///   - configuration: the options. The settings are those of a new key ring; an existing one has its own.
  /// - Throws: The errors of the source, and the following. The store is unchanged then.
  ///   - `wrongPassphrase` for another key; `wrongLabel` for a store with another label.
  ///   - `keyUnavailable` for a store with values and no key ring, so that values whose key ring was lost are not taken
  ///     for plain ones.
  ///   - `encryptionUnfinished` for one whose encryption or decryption is not finished.
  ///   - `damaged` or `newerFormat` for the key ring.
  ///   - `unsupported` for a base that cannot be encrypted, and for a store of which only declared keys are encrypted,
  ///     if the configuration declares none.
  ///   - `rolledBack` for an older copy of the store.
  ///   - `notFound`, `damaged` or `unavailable` for the anchor of the store
  ///     (``EncryptedEngine/Configuration/rollbackProtection``).
  public static func open(
    _ base: any StorageEngine, key: RootKeySource,
    configuration: EncryptedEngine.Configuration = EncryptedEngine.Configuration()
  ) async throws -> EncryptedEngine {
    let reader = RootKeyReader(key)
    return try await open(base, configuration: configuration) { try await reader.rootKey(for: $0) }
  }

  /// Returns whether a store without a key ring receives one: beside plain values only for single keys. A store with
  /// envelopes has lost its ring.
  static func missing(
    in base: any StorageEngine, _ configuration: EncryptedEngine.Configuration
  ) async throws -> KeyRingStore.Missing {
    guard configuration.isEncrypted != nil, base.capabilities.contains([.snapshots, .listing]) else {
      return .create
    }
    // A damaged record is repaired or reported when the ring is opened.
    do { if try await base.record(.keyRing) != nil { return .create } } catch { return .create }
    let isPlain = try await base.withSnapshot { snapshot in
      try await snapshot.allSummaries().allSatisfy { !$0.attributes.isSealed }
    }
    return isPlain ? .createBesidePlainValues : .create
  }

  /// Opens an encrypted store with a root key that is derived already.
  /// - Parameters:
  ///   - missing: what happens if the store has no key ring; by default it receives one unless it holds values that
  ///     have to be encrypted.
  ///   - accepts: whether the store is anchored as it is.
  ///   - root: returns the root key.
  package static func open(
    _ base: any StorageEngine, ifMissing missing: KeyRingStore.Missing? = nil,
    configuration: EncryptedEngine.Configuration = EncryptedEngine.Configuration(),
    acceptingRollback accepts: Bool = false, root: (RootKeyDerivation?) async throws -> RootKey
  ) async throws -> EncryptedEngine {
    if accepts { try checkAcceptance(of: base, configuration) }
    let missing = if let missing { missing } else { try await self.missing(in: base, configuration) }
    return try await open(base, configuration, acceptingRollback: accepts) {
      try await $0.open(
        settings: configuration.settings, coverage: configuration.coverage, ifMissing: missing, root: root)
    }
  }

  /// Opens a store with the ring that `ring` opens or creates.
  /// - Parameters:
  ///   - phase: the phase of the ring in which the engine serves: another one than *complete* for whoever encrypts or
  ///     decrypts the store.
  ///   - change: changes the ring after it was compared with the anchor: a change gives an older ring a newer
  ///     generation.
  static func open(
    _ base: any StorageEngine, _ configuration: EncryptedEngine.Configuration, acceptingRollback accepts: Bool = false,
    serving phase: KeyRing.Phase = .complete, _ ring: (KeyRingStore) async throws -> OpenKeyRing,
    changing change: ((KeyRingStore, OpenKeyRing) async throws -> OpenKeyRing)? = nil
  ) async throws -> EncryptedEngine {
    guard !configuration.settings.hidesNames || configuration.isEncrypted == nil else {
      throw StorageError.unsupported(
        "hidden names of some values only", advice: "Encrypt all values, or keep the names.",
        location: base.description)
    }
    try check(base, configuration.settings)
    let protection = configuration.rollbackProtection
    // Read before the store, which only grows newer.
    let anchored =
      accepts
      ? try await protection?.record(for: base.description)
      : try await protection?.requireRing(in: base, at: base.description)
    let (store, position) = (try KeyRingStore(base, label: configuration.label), base.latestPosition)
    var open = try await ring(store)
    if let change {
      if let protection, !accepts {
        try await RollbackGuard(protection, open.ring, over: base).check(anchored, open, in: store)
      }
      open = try await change(store, open)
    }
    let rollback = try protection.map { try RollbackGuard($0, open.ring, over: base) }
    let engine = try EncryptedEngine(open, in: store, readAt: position, configuration, rollback, serving: phase)
    // An anchor that knows a newer ring says more; without one, none is begun for a store that is refused.
    if accepts || anchored == nil { try engine.ciphers.check(open.ring) }
    if accepts {
      try await rollback?.accept()
    } else {
      try await rollback?.check(anchored, open, in: store)
      try engine.ciphers.check(open.ring)
    }
    if phase == .complete { engine.beginUpkeep() }
    return engine
  }

  private static func check(_ base: any StorageEngine, _ settings: EncryptionSettings) throws {
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
    guard base.capabilities.contains([.snapshots, .listing, .replay]) else {
      throw StorageError.unsupported(
        "hidden names, which need snapshots, listings and replay", advice: "Keep the names.",
        location: base.description)
    }
  }

  private static func capabilities(_ base: StoreCapabilities, _ ring: KeyRing) -> StoreCapabilities {
    let encryptsAll = ring.coverage == .all
    // The types of plain values beside encrypted ones are those of the store.
    var features = encryptsAll ? base.features.subtracting(.propertyLists) : base.features
    let pads = ring.settings.padsValues
    if pads, encryptsAll { features.insert(.secrecy) }
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

  /// Whether all values of the store are encrypted, and not only those of declared keys, as far as it is known.
  public var encryptsAll: Bool { cipher.ring.coverage == .all }

  /// The newest known state of the key ring.
  var cipher: StoreCipher { ciphers.current }

  /// The key ring, for tools that describe it.
  package var keyRing: KeyRing { cipher.ring }

  // MARK: Reading

  public func entry(_ key: KeyName) async throws -> StoreEntry? {
    let cipher = cipher
    guard hidesNames else {
      guard let entry = try await base.entry(key) else { return nil }
      if let opened = try? cipher.open(entry, of: key) { return opened }
      return try await opening { cipher in try await self.base.entry(key).map { try cipher.open($0, of: key) } }
    }
    let stored = try cipher.storedKey(of: key)
    let entry = try await renaming([key], cipher) { try await self.base.entry(stored) }
    if let entry, let opened = try? cipher.open(entry, of: key) { return opened }
    // An absent value may be stored under another hash by now, and another one may need a newer ring.
    return entry == nil && ciphers.isCurrent(cipher) ? nil : try await entries([key])[0]
  }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await opening { cipher in
      guard hidesNames else { return try await entries(keys, under: cipher) { try await base.entries($0) } }
      return try await confirmingAbsence(cipher) { cipher in
        try await entries(keys, under: cipher) { try await base.entries($0) }
      } isAbsent: {
        $0.contains { $0 == nil }
      }
    }
  }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    guard hidesNames else { return try await base.summary(of: key).map { cipher.summary($0, of: key) } }
    return try await confirmingAbsence(cipher) { cipher in
      try await summary(of: key, under: cipher) { try await base.summary(of: $0) }
    } isAbsent: {
      $0 == nil
    }
  }

  /// Calls `body`, which reads and opens entries, and again with a newer state of the key ring if one does not open.
  ///
  /// Another process may have replaced value and key together after the value was read: one more reading decides.
  func opening<R>(_ body: (StoreCipher) async throws -> R) async throws -> R {
    var isLast = false
    while true {
      let cipher = cipher
      do { return try await body(cipher) } catch StoreCipher.Failure.unopened(let error) {
        let isUnchanged = try await ciphers.reload(after: cipher, orThrow: error) === cipher
        if isUnchanged, isLast { throw error }
        isLast = isUnchanged
      }
    }
  }

  /// Reads entries of stored keys with `read` and opens them.
  func entries(
    _ names: [KeyName], under cipher: StoreCipher, _ read: ([KeyName]) async throws -> [StoreEntry?]
  ) async throws -> [StoreEntry?] {
    let keys = hidesNames ? try names.map { try cipher.storedKey(of: $0) } : names
    let entries = try await renaming(names, cipher) { try await read(keys) }
    return try zip(names, entries).map { name, entry in try entry.map { try cipher.open($0, of: name) } }
  }

  /// Reads the summary of a stored key with `read`.
  func summary(
    of name: KeyName, under cipher: StoreCipher, _ read: (KeyName) async throws -> StoreEntry.Summary?
  ) async throws -> StoreEntry.Summary? {
    let key = try cipher.storedKey(of: name)
    return try await renaming([name], cipher) { try await read(key) }.map { cipher.summary($0, of: name) }
  }

  /// Calls `read`, and again if something is absent and the ring has changed: with another index key, a value is stored
  /// under another key.
  private func confirmingAbsence<R>(
    _ cipher: StoreCipher, _ read: (StoreCipher) async throws -> R, isAbsent: (R) -> Bool
  ) async throws -> R {
    var cipher = cipher
    while true {
      let result = try await read(cipher)
      guard isAbsent(result), !ciphers.isCurrent(cipher) else { return result }
      let next = try await ciphers.reload(after: cipher)
      if next === cipher { return result }
      cipher = next
    }
  }

  /// Calls `body` and names the keys in its errors as callers do.
  func renaming<R>(_ names: [KeyName], _ cipher: StoreCipher, _ body: () async throws -> R) async throws -> R {
    do { return try await body() } catch let error as StorageError {
      throw error.renaming { key in names.first { (try? cipher.storedKey(of: $0)) == key } }
    }
  }
}
