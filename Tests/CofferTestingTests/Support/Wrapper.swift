import CofferCore
import Foundation

/// A decorator whose calls can be replaced by hooks. Without hooks it forwards every call.
struct Wrapper: EngineDecorator {
  typealias Commits = @Sendable (any StorageEngine, WriteBatch, StoreOrigin) async throws -> StoreCommit

  let base: any StorageEngine
  var ownClock: StoreClock?
  var features: @Sendable (StoreCapabilities.Features) -> StoreCapabilities.Features = { $0 }
  var onCommit: Commits = { base, batch, origin in try await base.commit(batch, from: origin) }
  var onEntries: @Sendable (any StorageEngine, [KeyName]) async throws -> [StoreEntry?] = { try await $0.entries($1) }
  var onSnapshot: @Sendable (any StorageEngine, any StorageSnapshot) -> any StorageSnapshot = { $1 }
  var onSummary: @Sendable (any StorageEngine, KeyName) async throws -> StoreEntry.Summary? = {
    try await $0.summary(of: $1)
  }
  var onChanges: @Sendable (any StorageEngine, JournalPosition?) -> AsyncStream<StoreChange> = { $0.changes(since: $1) }
  var onClose: @Sendable (any StorageEngine) async throws -> Void = { try await $0.close() }

  var clock: StoreClock { ownClock ?? base.clock }

  var capabilities: StoreCapabilities {
    StoreCapabilities(features(base.capabilities.features), maximumValueSize: base.capabilities.maximumValueSize)
  }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await onCommit(base, batch, origin)
  }
  func entry(_ key: KeyName) async throws -> StoreEntry? { try await onEntries(base, [key])[0] }
  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try await onEntries(base, keys) }
  func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await onSummary(base, key) }
  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
    try await base.withSnapshot { try await body(onSnapshot(base, $0)) }
  }
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { onChanges(base, position) }
  func close() async throws { try await onClose(base) }
}

extension Wrapper {
  /// Returns a wrapper whose streams replace each change by any number of changes.
  func mappingChanges(_ transform: @escaping @Sendable (StoreChange) -> [StoreChange]) -> Wrapper {
    var copy = self
    copy.onChanges = { base, revision in
      let source = base.changes(since: revision)
      let (stream, continuation) = AsyncStream.makeStream(of: StoreChange.self)
      let relay = Task {
        for await change in source { for change in transform(change) { continuation.yield(change) } }
        continuation.finish()
      }
      continuation.onTermination = { _ in relay.cancel() }
      return stream
    }
    return copy
  }
}

/// A snapshot over another one whose reads can be replaced by hooks.
struct SnapshotWrapper: StorageSnapshot {
  typealias Page = @Sendable (any StorageSnapshot, KeyName?, KeyName?, Int) async throws -> [StoreEntry]

  let base: any StorageSnapshot
  var onEntries: @Sendable (any StorageSnapshot, [KeyName]) async throws -> [StoreEntry?] = {
    try await $0.entries($1)
  }
  var onPage: Page = { try await $0.page(prefix: $1, after: $2, limit: $3) }

  var revision: StoreRevision { base.revision }
  func entry(_ key: KeyName) async throws -> StoreEntry? { try await onEntries(base, [key])[0] }
  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try await onEntries(base, keys) }
  func summary(of key: KeyName) async throws -> StoreEntry.Summary? { try await base.summary(of: key) }
  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try await onPage(base, prefix, after, limit)
  }
}
