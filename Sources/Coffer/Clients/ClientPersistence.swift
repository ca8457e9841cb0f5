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
    guard let round = round else {
      known[full] = nil
      try await calls.save(value, for: prefix + key)
      known[full] = nil  // A round may have ended meanwhile.
      return
    }
    try change(full, to: try calls.store.coding.encode(value, for: full), in: round)
  }

  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    let full = try StoreKey(prefix + key)
    let encoded = try await calls.store.load(full, decode: { $0 })
    let value = try encoded.map { try calls.store.coding.decode(type, from: $0, for: full) }
    if ClientRestoration.isRunning { known[full] = .some(encoded) }
    return value
  }

  public func delete(key: String) async throws {
    let full = try StoreKey(prefix + key)
    guard let round = round else {
      known[full] = nil
      try await calls.store.delete(full)
      known[full] = nil
      return
    }
    try change(full, to: nil, in: round)
  }

  public func exists(key: String) async -> Bool { await calls.exists(key: prefix + key) }

  /// The round of the current task, if it is about this client.
  private var round: ClientRound? {
    guard let round = ClientRound.current, round.persistence === self else { return nil }
    return round
  }

  private func change(_ key: StoreKey, to value: EncodedValue?, in round: ClientRound) throws {
    guard round.keys.contains(key) else {
      throw StorageError(
        .unsupported, "The client saves a key that is not among its persistedKeys.",
        advice: "Add the key to persistedKeys. Nothing of this client was written.",
        location: calls.store.engine.description, key: key)
    }
    if !round.isBaseline, let before = known[key], before?.data == value?.data, before?.attributes == value?.attributes
    {
      return
    }
    round.changes.withLock { $0.append((key, value)) }
  }

  /// Records what a round has stored.
  func committed(_ changes: [(key: StoreKey, value: EncodedValue?)]) {
    for change in changes { known[change.key] = .some(change.value) }
  }
}

/// One call of `persistState()` by a session, which collects what the client saves.
final class ClientRound: Sendable {
  @TaskLocal static var current: ClientRound?

  let persistence: ClientPersistence
  let keys: Set<StoreKey>
  /// Whether it finds out what the client has not changed.
  let isBaseline: Bool
  let changes = Locked<[(key: StoreKey, value: EncodedValue?)]>([])

  init(_ persistence: ClientPersistence, keys: Set<StoreKey>, isBaseline: Bool = false) {
    (self.persistence, self.keys, self.isBaseline) = (persistence, keys, isBaseline)
  }
}
