import CofferLocks
import Foundation

/// The persistence that a ``ClientSession`` passes to a client.
///
/// While the session saves the client, what the client saves is compared with what it last loaded or saved, and only
/// differences are collected for the commit of the session. At other times, each call reads or writes at once.
public actor ClientPersistence: PersistenceCapability {
  private let calls: PersistenceCalls
  /// The text before the keys of the client.
  public nonisolated let prefix: String
  /// What the client last loaded or saved. A value that another process has changed since is not written again.
  private var known: [StoreKey: EncodedValue?] = [:]

  init(store: TypedStore, prefix: String) {
    calls = PersistenceCalls(store)
    self.prefix = prefix
  }

  public func save<T: Codable>(_ value: T, for key: String) async throws {
    let full = try StoreKey(prefix + key)
    if let round, try change(full, to: try calls.store.coding.encode(value, for: full), in: round) { return }
    known[full] = nil
    try await calls.save(value, for: prefix + key)
    known[full] = nil  // A round may have ended meanwhile.
  }

  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    let full = try StoreKey(prefix + key)
    let restoration = ClientRestoration.current.flatMap { $0.persistence === self && $0.isOpen ? $0 : nil }
    do {
      let encoded = try await calls.store.load(full, decode: { $0 })
      let value = try encoded.map { try calls.store.coding.decode(type, from: $0, for: full) }
      if let restoration, restoration.isOpen { known[full] = .some(encoded) }
      restoration?.loaded(full, nil)
      return value
    } catch {
      restoration?.loaded(full, error)
      throw error
    }
  }

  public func delete(key: String) async throws {
    let full = try StoreKey(prefix + key)
    if let round, try change(full, to: nil, in: round) { return }
    known[full] = nil
    try await calls.store.delete(full)
    known[full] = nil
  }

  public func exists(key: String) async -> Bool { await calls.exists(key: prefix + key) }

  /// The round of the current task, if it is about this client.
  private var round: ClientRound? {
    guard let round = ClientRound.current, round.persistence === self, round.isOpen else { return nil }
    return round
  }

  /// Collects a change, if there is one. Returns `false` if the round has ended meanwhile.
  private func change(_ key: StoreKey, to value: EncodedValue?, in round: ClientRound) throws -> Bool {
    guard round.keys.contains(key) else {
      throw StorageError(
        .unsupported, "The client saves a key that is not among its persistedKeys.",
        advice: "Add the key to persistedKeys. Nothing of this client was written.",
        location: calls.store.engine.description, key: key)
    }
    if !round.isBaseline, let before = known[key], before?.data == value?.data, before?.attributes == value?.attributes
    {
      return round.isOpen
    }
    return round.add(key, value)
  }

  /// Makes the next round write keys whatever it finds: a value of an earlier one may be stored after that of a later.
  func forget(_ changes: [(key: StoreKey, value: EncodedValue?)]) {
    for change in changes { known[change.key] = nil }
  }

  /// Records what a round has stored.
  func committed(_ changes: [(key: StoreKey, value: EncodedValue?)]) {
    for change in changes { known[change.key] = .some(change.value) }
  }
}

/// One call of `persistState()` by a session, which collects what the client saves.
///
/// A task that the call starts inherits it. It is therefore closed when the call returns: what that task saves later is
/// written at once.
final class ClientRound: Sendable {
  @TaskLocal static var current: ClientRound?

  typealias Changes = [(key: StoreKey, value: EncodedValue?)]

  let persistence: ClientPersistence
  let keys: Set<StoreKey>
  /// The properties that it reads without their pending edits, to find out what the client has not changed; `nil` for a
  /// round whose changes are written.
  private let unedited: Set<ObjectIdentifier>?
  var isBaseline: Bool { unedited != nil }
  private let state = Locked<(changes: Changes, isOpen: Bool)>(([], true))
  private let read = Locked<Set<ObjectIdentifier>>([])

  init(_ persistence: ClientPersistence, keys: Set<StoreKey>, unedited: [any AnyClientCell]? = nil) {
    (self.persistence, self.keys) = (persistence, keys)
    self.unedited = unedited.map { Set($0.map { ObjectIdentifier($0) }) }
  }

  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Whether a property is to be read without its pending edits, which is noted.
  func readsUnedited(_ cell: any AnyClientCell) -> Bool {
    let id = ObjectIdentifier(cell)
    guard let unedited, unedited.contains(id), isOpen else { return false }
    read.withLock { _ = $0.insert(id) }
    return true
  }

  /// Whether a property was read without its pending edits.
  func hasRead(_ cell: any AnyClientCell) -> Bool { read.withLock { $0.contains(ObjectIdentifier(cell)) } }

  /// Adds a change; returns `false` if the round has ended.
  func add(_ key: StoreKey, _ value: EncodedValue?) -> Bool {
    state.withLock { state in
      if state.isOpen { state.changes.append((key, value)) }
      return state.isOpen
    }
  }

  /// Calls `persistState()` and returns what it has saved.
  func collect(from client: some Persistable) async throws -> Changes {
    defer { state.withLock { $0.isOpen = false } }
    try await ClientRound.$current.withValue(self) { try await client.persistState() }
    return state.withLock { state in
      state.isOpen = false
      return state.changes
    }
  }

  /// What was saved so far.
  var changes: Changes { state.withLock { $0.changes } }
}
