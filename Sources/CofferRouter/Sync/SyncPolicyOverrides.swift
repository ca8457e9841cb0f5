import Foundation

/// The overrides of declared sync policies, stored as a system record in the domain `StorageConfiguration.stateDomain`.
struct SyncPolicyOverrides {
  /// The maximum number of attempts of a change when other writers commit first.
  private static let attempts = 16

  private let engine: any StorageEngine

  init(_ engine: any StorageEngine) { self.engine = engine }

  /// The overridden policy of one key, an element of the record's list.
  struct Override: Codable, Hashable {
    let name: String
    /// The raw value of a ``SyncPolicy``. Values of later versions are preserved.
    let policy: String
  }

  /// Returns all overrides and the revision of their record.
  func load() async throws -> (overrides: [Override], revision: StoreRevision?) {
    guard let record = try await engine.record(.syncPolicies) else { return (try await earlierOverrides(), nil) }
    guard let overrides = try? JSONDecoder().decode([Override].self, from: record.content) else { throw unreadable }
    return (overrides, record.revision)
  }

  private var unreadable: StorageError {
    StorageError(
      .damaged, "The record of sync policies cannot be read.",
      advice: "Restore a backup of this store. Until then no policy can be changed; values can be read.",
      location: engine.description)
  }

  /// Returns the overrides of an earlier version, which stored them as an ordinary value.
  private func earlierOverrides() async throws -> [Override] {
    guard let entry = try await engine.entry(KeyName(Self.earlierKey)) else { return [] }
    guard let pairs = (try? JSONSerialization.jsonObject(with: entry.value)) as? [AnyHashable: Any] else {
      throw unreadable
    }
    return pairs.compactMap { name, policy in
      guard let name = name as? String, let policy = policy as? String else { return nil }
      return Override(name: name, policy: policy)
    }
  }

  private static let earlierKey = "coffer.sync-policies"

  /// Changes the override of one key, and retries when another writer commits first.
  /// - Returns: All overrides after the change.
  func set(_ policy: SyncPolicy?, of name: String) async throws -> [Override] {
    let record = SystemRecord.Name.syncPolicies
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
            [.requireRecord(record, revision), .putRecord(record, content), .delete(try KeyName(Self.earlierKey))]),
          from: origin)
        return overrides
      } catch let error as StorageError where error.code == .preconditionFailed && attempt < Self.attempts {
        continue
      }
    }
  }
}
