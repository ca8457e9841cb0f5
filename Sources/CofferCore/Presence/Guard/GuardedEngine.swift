/// An engine that asks for the confirmations that values require before it reads them from another engine, which does
/// not ask itself: one of the application, or one in memory.
package final class GuardedEngine: EngineDecorator {
  package let base: any StorageEngine
  private let reads: ReadGuard

  package init(_ base: any StorageEngine, _ reads: ReadGuard) {
    self.base = base
    self.reads = reads
  }

  package func entry(_ key: KeyName) async throws -> StoreEntry? {
    try await guarding([key]) { [try await base.entry(key)] }[0]
  }

  package func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await guarding(keys) { try await base.entries(keys) }
  }

  private func guarding(
    _ keys: [KeyName], _ read: () async throws -> [StoreEntry?]
  ) async throws -> [StoreEntry?] {
    try await reads.entries(
      keys, in: description, recorded: { try await base.summary(of: $0)?.attributes }, read: read)
  }

  package func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await base.withSnapshot { [reads, description] in
      try await body(GuardedSnapshot($0, reads, in: description))
    }
  }
}
