package import CofferCore

/// An engine that asks for the confirmations that values require before it reads them from another engine, which does
/// not ask itself: one of the application, or one in memory.
package final class GuardedEngine: EngineDecorator {
  package let base: any StorageEngine
  private let reads: ReadGuard

  package init(_ base: any StorageEngine, _ reads: ReadGuard) {
    self.base = base
    self.reads = reads
  }

  package func entry(_ key: StoreKey) async throws -> StoreEntry? {
    try await reads.entry(
      key, in: description, recorded: { try await base.summary(of: key)?.attributes ?? .none },
      read: { try await base.entry(key) })
  }

  package func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    var granted: Set<KeychainAccessControl> = []
    var known: [(key: StoreKey, attributes: ValueAttributes)] = []
    for key in keys { known.append((key, try await base.summary(of: key)?.attributes ?? .none)) }
    try await reads.permit(known, granted: &granted, in: description)
    let entries = try await base.entries(keys)
    try await reads.permit(
      entries.compactMap { $0.map { ($0.key, $0.attributes) } }, granted: &granted, in: description)
    return entries
  }

  package func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await base.withSnapshot { [reads, description] in
      try await body(GuardedSnapshot($0, reads, in: description))
    }
  }
}
