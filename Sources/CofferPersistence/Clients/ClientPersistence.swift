import Coffer
import CofferCore
import Foundation

/// The persistence that a ``ClientSession`` passes to a client.
///
/// While the session saves the client, what the client saves is collected for the commit of the session. At other
/// times, each call reads or writes at once.
public actor ClientPersistence: PersistenceCapability {
  private let calls: PersistenceCalls
  private let keys: Set<KeyName>
  /// The text before the keys of the client.
  public nonisolated let prefix: String
  /// What the client has last saved, or would have saved before its first edit.
  private var known: ClientRound.Values = [:]
  /// The keys that the client has written outside of a save of its session, which are written by each save.
  private var writtenAtOnce: Set<KeyName> = []
  /// The errors of the keys whose last load has failed, whether or not the client has handled them.
  private var failures: [KeyName: any Error] = [:]

  init(store: TypedStore, prefix: String, keys: Set<KeyName>) {
    (calls, self.prefix, self.keys) = (PersistenceCalls(store), prefix, keys)
  }

  public func save<T: Codable>(_ value: T, for key: String) async throws {
    let full = try KeyName(prefix + key)
    if try collect(full, try calls.store.coding.encode(value, for: full)) { return }
    writtenAtOnce.insert(full)
    try await calls.save(value, for: full.string)
  }

  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    let full = try KeyName(prefix + key)
    do {
      let value = try await calls.load(type, for: full.string)
      failures[full] = nil
      return value
    } catch {
      failures[full] = error
      throw error
    }
  }

  public func delete(key: String) async throws {
    let full = try KeyName(prefix + key)
    if try collect(full, nil) { return }
    writtenAtOnce.insert(full)
    try await calls.store.delete(full)
  }

  public func exists(key: String) async -> Bool { await calls.exists(key: prefix + key) }

  /// Adds a value to the save of the session. Returns `false` if the current task is not part of one.
  private func collect(_ key: KeyName, _ value: EncodedValue?) throws -> Bool {
    guard let round = ClientRound.current, round.persistence === self, round.isOpen else { return false }
    guard keys.contains(key) else {
      throw StorageError(
        .unsupported, "The client saves a key that is not among its persistedKeys.",
        advice: "Add the key to persistedKeys. Nothing of this client was written.",
        location: calls.store.engine.description, key: key)
    }
    return round.add(key, value)
  }

  /// The error of a key that could not be loaded.
  var failure: (any Error)? { failures.min { $0.key < $1.key }?.value }

  /// Returns the values that differ from those that are known.
  func changes(in values: ClientRound.Values) -> ClientRound.Values {
    values.filter { writtenAtOnce.contains($0.key) || known[$0.key] != .some($0.value) }
  }

  /// Records values as known.
  func note(_ values: ClientRound.Values) { known.merge(values) { $1 } }

  /// Discards the known states of values whose commit has failed, since some of them may be stored.
  func forget(_ values: ClientRound.Values) {
    for key in values.keys { known.removeValue(forKey: key) }
  }
}

/// One call of `persistState()` by a session, which collects what the client saves.
///
/// A task that the call starts inherits it. It therefore ends when the call returns: what that task saves later is
/// written at once.
final class ClientRound: Sendable {
  @TaskLocal static var current: ClientRound?

  /// The last value of each key; `nil` is a deletion.
  typealias Values = [KeyName: EncodedValue?]

  let persistence: ClientPersistence
  /// `nil` after the call.
  private let values = Locked<Values?>([:])

  init(_ persistence: ClientPersistence) { self.persistence = persistence }

  var isOpen: Bool { values.withLock { $0 != nil } }

  /// Adds a value. Returns `false` after the call.
  func add(_ key: KeyName, _ value: EncodedValue?) -> Bool {
    values.withLock { values in
      values?.updateValue(value, forKey: key)
      return values != nil
    }
  }

  private func end() -> Values {
    values.withLock { values in
      defer { values = nil }
      return values ?? [:]
    }
  }

  /// Calls `persistState()` and returns what it saves.
  static func collect(from client: any Persistable, _ persistence: ClientPersistence) async throws -> Values {
    let round = ClientRound(persistence)
    defer { _ = round.end() }
    try await $current.withValue(round) { try await client.persistState() }
    return round.end()
  }
}
