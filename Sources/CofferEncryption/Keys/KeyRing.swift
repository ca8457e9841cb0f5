package import CofferCore
package import Foundation

/// The data keys of one encrypted store, with what they are used for.
///
/// One key, the *primary*, encrypts what is written; the *retired* ones only decrypt what was written before. A ring
/// is sealed under a root key, which encrypts nothing else, so that the root key can change without touching a value.
///
/// ```swift
/// var ring = try KeyRing.create(settings: EncryptionSettings(), now: clock.now())
/// let earlier = try ring.addPrimary(now: clock.now())
/// let record = try ring.sealed(under: root)
/// ```
package struct KeyRing: Sendable {
  /// What is being done with the values of a store. In any phase but the first, only whoever does it uses the store.
  package enum Phase: UInt8, Hashable, Sendable, CaseIterable {
    /// Nothing: every value is encrypted, and a plain one is damaged or was planted.
    case complete = 0
    /// Values that were stored in plain are being encrypted.
    case encrypting = 1
    /// Values are being decrypted.
    case decrypting = 2
  }

  /// Which values of a store are encrypted. The header of the ring states it in plain, authenticated with the rest.
  package enum Coverage: UInt8, Hashable, Sendable, CaseIterable {
    /// All values are.
    case all = 0
    /// Those of declared keys are. The store itself does not know these keys: the program that opens it does.
    case declared = 1
  }

  /// The maximum number of keys, including destroyed ones.
  package static let maximumCount = 1_024
  /// The maximum size of a label in bytes.
  package static let maximumLabelSize = 1_024

  /// The random identity of the store, 16 bytes, to which every value is bound.
  package let storeID: Data
  /// The manner of encryption, which never changes.
  package let settings: EncryptionSettings
  /// The key from which opaque names are computed. It changes only when all values are erased, since names could not be
  /// found otherwise.
  package private(set) var indexKey: DataKey
  /// All keys in the order of their creation, with destroyed ones.
  package internal(set) var entries: [KeyRingEntry]
  /// What is being done with the values.
  package var phase: Phase
  /// Which values are encrypted. ``EncryptedEngine/encrypt(_:key:configuration:)`` can change it to `all`.
  package var coverage: Coverage
  /// The label of the store that the ring belongs to: it opens for no other one.
  package var label: String
  /// The number of changes of the ring so far: 0 for a ring that was never sealed, and one more with each sealing.
  package internal(set) var generation: UInt64
  /// The key that encrypts what is written.
  package private(set) var primary: DataKey
  /// The keys that can decrypt, by their ids: the primary and the retired ones.
  package private(set) var keys: [KeyID: DataKey]

  /// Creates a ring with a new identity and one new key.
  /// - Throws: `unavailable` if the system has no random bytes.
  package static func create(
    settings: EncryptionSettings, coverage: Coverage = .all, label: String = "", now: Date
  ) throws -> KeyRing {
    let key = try DataKey.random()
    return try KeyRing(
      storeID: randomBytes(KeyRingHeader.storeIDCount), settings: settings, indexKey: .random(),
      entries: [KeyRingEntry(key, .primary, created: now)], phase: .complete, coverage: coverage, label: label,
      generation: 0)
  }

  /// Creates a ring from its parts.
  /// - Throws: `damaged` unless exactly one key is the primary and all keys differ, and if names are hidden although
  ///   some values are plain.
  init(
    storeID: Data, settings: EncryptionSettings, indexKey: DataKey, entries: [KeyRingEntry], phase: Phase,
    coverage: Coverage, label: String, generation: UInt64
  ) throws {
    let primaries = entries.filter { $0.state == .primary }.compactMap(\.key)
    guard primaries.count == 1, let primary = primaries.first, entries.count <= Self.maximumCount,
      Set(entries.map(\.id)).count == entries.count, entries.allSatisfy({ $0.id != indexKey.id }),
      coverage == .all || !settings.hidesNames
    else { throw KeyRingHeader.damaged }
    self.storeID = storeID
    self.settings = settings
    self.indexKey = indexKey
    self.entries = entries
    self.phase = phase
    self.coverage = coverage
    self.label = label
    self.generation = generation
    self.primary = primary
    keys = Self.keys(of: entries)
  }

  private static func keys(of entries: [KeyRingEntry]) -> [KeyID: DataKey] {
    var keys: [KeyID: DataKey] = [:]
    for entry in entries { keys[entry.id] = entry.key }
    return keys
  }

  /// Returns the key with an id.
  /// - Throws: `keyUnavailable` if it was destroyed or never was in this ring.
  package func key(_ id: KeyID) throws(StorageError) -> DataKey {
    if let key = keys[id] { return key }
    throw StorageError.missingKey(id, entries.first { $0.id == id })
  }

  // MARK: Changes

  /// Adds a new primary key. The previous one is retired.
  /// - Returns: the id of the new key.
  /// - Throws: `unsupported` if the ring is full.
  @discardableResult
  package mutating func addPrimary(now: Date) throws -> KeyID {
    guard entries.count < Self.maximumCount else {
      throw StorageError(
        .unsupported, "The key ring holds \(Self.maximumCount) keys and takes no more.",
        advice: "Finish the rotation, which removes retired keys. Nothing was changed.")
    }
    let key = try DataKey.random()
    for index in entries.indices where entries[index].state == .primary {
      entries[index].state = .retired
      entries[index].changed = now.wholeMilliseconds
    }
    entries.append(KeyRingEntry(key, .primary, created: now))
    primary = key
    keys = Self.keys(of: entries)
    return key.id
  }

  /// Removes a retired or destroyed key for good, as at the end of a rotation. Does nothing if there is no such key.
  /// - Throws: `unsupported` for the primary key.
  package mutating func remove(_ id: KeyID) throws {
    guard id != primary.id else { throw Self.isPrimary("removed") }
    entries.removeAll { $0.id == id }
    keys = Self.keys(of: entries)
  }

  /// Destroys the material of a retired key, and keeps its id and dates: what it encrypted can never be read again.
  /// - Throws: `unsupported` for the primary key; `keyUnavailable` if there is no such key.
  package mutating func destroy(_ id: KeyID, now: Date) throws {
    guard id != primary.id else { throw Self.isPrimary("destroyed") }
    guard let index = entries.firstIndex(where: { $0.id == id && $0.state == .retired }) else {
      throw StorageError.missingKey(id, entries.first { $0.id == id })
    }
    entries[index].state = .destroyed
    entries[index].changed = now.wholeMilliseconds
    entries[index].key = nil
    keys = Self.keys(of: entries)
  }

  /// Destroys every key, and adds a new primary one: what was encrypted so far, hidden names included, can never be
  /// read again.
  /// - Parameter replacingIndexKey: whether hidden names have new hashes from now on.
  /// - Returns: the ids of the keys that were destroyed.
  /// - Throws: `unsupported` if the ring is full.
  package mutating func destroyAll(now: Date, replacingIndexKey: Bool) throws -> [KeyID] {
    try addPrimary(now: now)
    let ids = entries.filter { $0.state == .retired }.map(\.id)
    for id in ids { try destroy(id, now: now) }
    // Somebody who knows the index key can test guesses of names against their hashes.
    if replacingIndexKey { indexKey = try .random() }
    return ids
  }

  private static func isPrimary(_ what: String) -> StorageError {
    StorageError(
      .unsupported, "The primary key of a store cannot be \(what).",
      advice: "Add a new primary key first. Nothing was changed.")
  }
}

extension KeyRing: Equatable {
  /// Compares everything; keys by their ids, which commit to them.
  package static func == (left: KeyRing, right: KeyRing) -> Bool {
    left.storeID == right.storeID && left.settings == right.settings && left.indexKey.id == right.indexKey.id
      && left.entries == right.entries && left.phase == right.phase && left.coverage == right.coverage
      && left.label == right.label && left.generation == right.generation
  }
}

extension KeyRing: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A description without key material, such as `a key ring of 2 keys, primary 1f0c77aa, generation 3`.
  package var description: String {
    "a key ring of \(entries.count) key\(entries.count == 1 ? "" : "s"), primary \(primary.id.short), "
      + "generation \(generation)"
  }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
