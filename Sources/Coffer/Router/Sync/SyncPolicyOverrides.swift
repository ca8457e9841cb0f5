import Foundation

/// How keys are synced otherwise than they say: a record in the router's memory.
struct SyncPolicyOverrides {
  /// How often a change is begun again that others were before.
  private static let attempts = 16

  private let engine: any StorageEngine

  init(_ engine: any StorageEngine) { self.engine = engine }

  private static func name() throws -> SystemRecordName { try SystemRecordName("router/sync-policies") }

  /// The policy of one key, as the record has it in its list.
  struct Override: Codable, Hashable {
    let name: String
    /// A ``SyncPolicy``; one of a later version is left as it is.
    let policy: String
  }

  /// All of them, and the revision that has them.
  func load() async throws -> (overrides: [Override], revision: StoreRevision?) {
    guard let record = try await engine.record(Self.name()) else { return (try await earlierOverrides(), nil) }
    guard let overrides = try? JSONDecoder().decode([Override].self, from: record.content) else { throw unreadable }
    return (overrides, record.revision)
  }

  private var unreadable: StorageError {
    StorageError(
      .damaged, "The record of sync policies cannot be read.",
      advice: "Restore a backup of the router's memory. Until then no policy can be changed; values can be read.",
      backend: engine.description)
  }

  /// Those of an earlier version, which kept them as a value among the others'.
  private func earlierOverrides() async throws -> [Override] {
    guard let entry = try await engine.entry(StoreKey(Self.earlierKey)) else { return [] }
    guard let pairs = (try? JSONSerialization.jsonObject(with: entry.value)) as? [AnyHashable: Any] else {
      throw unreadable
    }
    return pairs.compactMap { name, policy in
      guard let name = name as? String, let policy = policy as? String else { return nil }
      return Override(name: name, policy: policy)
    }
  }

  private static let earlierKey = "coffer.sync-policies"

  /// Changes one of them, whoever changes others meanwhile.
  /// - Returns: All of them.
  func set(_ policy: SyncPolicy?, of name: String) async throws -> [Override] {
    let record = try Self.name()
    let origin = StoreOrigin()
    var attempt = 0
    while true {
      attempt += 1
      var (overrides, revision) = try await load()
      overrides.removeAll { $0.name == name }
      if let policy { overrides.append(Override(name: name, policy: policy.rawValue)) }
      let content = try JSONEncoder().encode(overrides)
      do {
        try await engine.commit(
          WriteBatch(
            [.requireRecord(record, revision), .putRecord(record, content), .delete(try StoreKey(Self.earlierKey))]),
          from: origin)
        return overrides
      } catch let error as StorageError where error.code == .preconditionFailed && attempt < Self.attempts {
        continue
      }
    }
  }
}
