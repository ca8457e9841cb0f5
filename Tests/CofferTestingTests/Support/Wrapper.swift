import CofferCore
import Foundation

/// An engine over another one in which any call can be bent. Without hooks it passes everything on.
struct Wrapper: EngineDecorator {
  typealias Commits = @Sendable (any StorageEngine, WriteBatch, Origin) async throws -> Commit

  let base: any StorageEngine
  var features: @Sendable (Capabilities.Features) -> Capabilities.Features = { $0 }
  var onCommit: Commits = { base, batch, origin in try await base.commit(batch, from: origin) }
  var onEntries: @Sendable (any StorageEngine, [Key]) async throws -> [Entry?] = { try await $0.entries($1) }
  var onSnapshot: @Sendable (any StorageEngine, any StorageSnapshot) -> any StorageSnapshot = { $1 }
  var onChanges: @Sendable (any StorageEngine, JournalPosition?) -> AsyncStream<Change> = { $0.changes(since: $1) }
  var onClose: @Sendable (any StorageEngine) async throws -> Void = { try await $0.close() }

  var capabilities: Capabilities {
    Capabilities(features(base.capabilities.features), maximumValueSize: base.capabilities.maximumValueSize)
  }

  func commit(_ batch: WriteBatch, from origin: Origin) async throws -> Commit {
    try await onCommit(base, batch, origin)
  }
  func entry(_ key: Key) async throws -> Entry? { try await onEntries(base, [key])[0] }
  func entries(_ keys: [Key]) async throws -> [Entry?] { try await onEntries(base, keys) }
  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
    try await base.withSnapshot { try await body(onSnapshot(base, $0)) }
  }
  func changes(since position: JournalPosition?) -> AsyncStream<Change> { onChanges(base, position) }
  func close() async throws { try await onClose(base) }
}

extension Wrapper {
  /// Bends what every stream says: each change becomes any number of changes.
  func mappingChanges(_ transform: @escaping @Sendable (Change) -> [Change]) -> Wrapper {
    var copy = self
    copy.onChanges = { base, revision in
      let source = base.changes(since: revision)
      let (stream, continuation) = AsyncStream.makeStream(of: Change.self)
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

/// A snapshot over another one in which reads can be bent.
struct SnapshotWrapper: StorageSnapshot {
  typealias Page = @Sendable (any StorageSnapshot, Key?, Key?, Int) async throws -> [Entry]

  let base: any StorageSnapshot
  var onEntries: @Sendable (any StorageSnapshot, [Key]) async throws -> [Entry?] = { try await $0.entries($1) }
  var onPage: Page = { try await $0.page(prefix: $1, after: $2, limit: $3) }

  var revision: Revision { base.revision }
  func entry(_ key: Key) async throws -> Entry? { try await onEntries(base, [key])[0] }
  func entries(_ keys: [Key]) async throws -> [Entry?] { try await onEntries(base, keys) }
  func page(prefix: Key?, after: Key?, limit: Int) async throws -> [Entry] {
    try await onPage(base, prefix, after, limit)
  }
}
