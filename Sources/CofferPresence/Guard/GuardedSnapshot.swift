package import CofferCore
import CofferLocks

/// A snapshot that asks for the confirmations that values require before it reads them, once for each access control.
/// Its summaries ask for nothing.
package struct GuardedSnapshot: StorageSnapshot {
  private let base: any StorageSnapshot
  private let reads: ReadGuard
  private let location: String
  private let granted: Locked<Set<KeychainAccessControl>>

  package init(
    _ base: any StorageSnapshot, _ reads: ReadGuard, in location: String, granted: Set<KeychainAccessControl> = []
  ) {
    self.base = base
    self.reads = reads
    self.location = location
    self.granted = Locked(granted)
  }

  package var revision: StoreRevision { base.revision }

  package func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    var known: [StoreEntrySummary] = []
    for key in keys {
      if let summary = try await base.summary(of: key) { known.append(summary) }
    }
    try await permit(known.map { ($0.key, $0.attributes) })
    let entries = try await base.entries(keys)
    try await permit(entries.compactMap { $0.map { ($0.key, $0.attributes) } })
    return entries
  }

  package func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry] {
    let listed = try await base.summaries(prefix: prefix, after: after, limit: limit)
    try await permit(listed.map { ($0.key, $0.attributes) })
    let entries = try await base.page(prefix: prefix, after: after, limit: limit)
    try await permit(entries.map { ($0.key, $0.attributes) })
    return entries
  }

  package func summary(of key: StoreKey) async throws -> StoreEntrySummary? { try await base.summary(of: key) }

  package func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    try await base.summaries(prefix: prefix, after: after, limit: limit)
  }

  private func permit(_ values: [(key: StoreKey, attributes: ValueAttributes)]) async throws {
    var all = granted.withLock { $0 }
    try await reads.permit(values, granted: &all, in: location)
    granted.withLock { [all] in $0.formUnion(all) }
  }
}
