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
  /// The keys that the store did not have when they were last loaded or saved.
  private var absent: Set<StoreKey> = []

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
      let encoded = try await calls.store.storedForm(of: full)
      let value = try encoded.map { try calls.store.coding.decode(type, from: $0, for: full) }
      if let restoration, restoration.isOpen { note(full, encoded) }
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
    // An edit to the value that is known replaces a deletion by another process, as any other edit does.
    let isRestored = round.takesEdit() && value != nil && absent.contains(key)
    if !round.isBaseline, !isRestored, let before = known[key], before?.data == value?.data,
      before?.attributes == value?.attributes
    {
      return round.isOpen
    }
    return round.add(key, value)
  }

  private func note(_ key: StoreKey, _ stored: EncodedValue?) {
    known[key] = .some(stored)
    if stored == nil { absent.insert(key) } else { absent.remove(key) }
  }

  /// Makes the next round write keys whatever it finds: a value of an earlier one may be stored after that of a later.
  func forget(_ changes: [(key: StoreKey, value: EncodedValue?)]) {
    for change in changes { known[change.key] = nil }
  }

  /// Records what a round has stored.
  func committed(_ changes: [(key: StoreKey, value: EncodedValue?)]) {
    for change in changes { note(change.key, change.value) }
  }

  /// Records what was not edited, whether or not the store has it.
  func isUnchanged(_ values: [(key: StoreKey, value: EncodedValue?)]) {
    for value in values { known[value.key] = .some(value.value) }
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
  /// Whether it reads the properties without their pending edits, to find out what the client has not changed. The
  /// changes of other rounds are written.
  let isBaseline: Bool
  private let cells: Set<ObjectIdentifier>
  private let state = Locked<(changes: Changes, isOpen: Bool)>(([], true))
  private let read = Locked<Set<ObjectIdentifier>>([])
  /// Whether all properties were edited that were read since the last value was saved; `nil` if none was read.
  private let areEdited = Locked<Bool?>(nil)

  init(
    _ persistence: ClientPersistence, keys: Set<StoreKey>, cells: [any AnyClientCell], isBaseline: Bool = false
  ) {
    (self.persistence, self.keys, self.isBaseline) = (persistence, keys, isBaseline)
    self.cells = Set(cells.map { ObjectIdentifier($0) })
  }

  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Notes that a property is read. Returns whether it is to be read without its pending edits.
  func readsUnedited(_ cell: any AnyClientCell, isEdited: Bool) -> Bool {
    let id = ObjectIdentifier(cell)
    guard cells.contains(id), isOpen else { return false }
    areEdited.withLock { $0 = ($0 ?? true) && isEdited }
    guard isBaseline, isEdited else { return false }
    read.withLock { _ = $0.insert(id) }
    return true
  }

  /// Whether a property was read without its pending edits.
  func hasRead(_ cell: any AnyClientCell) -> Bool { read.withLock { $0.contains(ObjectIdentifier(cell)) } }

  /// Whether the value that is saved now was made of edited properties alone.
  func takesEdit() -> Bool {
    areEdited.withLock { areEdited in
      defer { areEdited = nil }
      return areEdited ?? false
    }
  }

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
