import CofferCore
import CofferTesting
import Foundation

/// Memory engines by location, so that a memory store can be opened twice and survives closing.
final class MemoryStores: Sendable {
  private let engines = Locked<[UUID: MemoryEngine]>([:])

  func engine(at location: StorageConformance.Location) -> MemoryEngine {
    engines.withLock { engines in
      if let engine = engines[location.id] { return engine }
      let engine = MemoryEngine(maximumValueSize: location.maximumValueSize ?? 1 << 30, journalCapacity: 64)
      engines[location.id] = engine
      return engine
    }
  }
}

/// A handle on a shared memory engine, which can be closed without closing the others. It simulates an engine on disk.
final class HandleEngine: EngineDecorator {
  private struct State {
    var isClosed = false
    var endings: [@Sendable () -> Void] = []
  }

  let base: any StorageEngine
  private let state = Locked(State())
  let capabilities: StoreCapabilities

  init(_ base: any StorageEngine) {
    self.base = base
    capabilities = StoreCapabilities(
      base.capabilities.features.union([.persistence, .foreignWriters]),
      maximumValueSize: base.capabilities.maximumValueSize)
  }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try checkOpen()
    return try await base.commit(batch, from: origin)
  }

  func entry(_ key: KeyName) async throws -> StoreEntry? {
    try checkOpen()
    return try await base.entry(key)
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try checkOpen()
    return try await base.entries(keys)
  }

  func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    try checkOpen()
    return try await base.record(name)
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try checkOpen()
    return try await base.summary(of: key)
  }

  func withSnapshot<R: Sendable>(_ body: @Sendable (any StorageSnapshot) async throws -> R) async throws -> R {
    try checkOpen()
    return try await base.withSnapshot(body)
  }

  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> {
    untilClosed(base.changes(since: position))
  }
  func availability() -> AsyncStream<StoreAvailability> { untilClosed(base.availability()) }
  func flush() async throws { try checkOpen() }

  func close() async throws {
    let endings = state.withLock { state in
      state.isClosed = true
      defer { state.endings.removeAll() }
      return state.endings
    }
    for end in endings { end() }
  }

  private func checkOpen() throws {
    guard !state.withLock({ $0.isClosed }) else { throw StorageError(.closed, "The handle was closed.") }
  }

  private func untilClosed<T: Sendable>(_ source: AsyncStream<T>) -> AsyncStream<T> {
    let (stream, continuation) = AsyncStream.makeStream(of: T.self)
    let relay = Task {
      for await element in source { continuation.yield(element) }
      continuation.finish()
    }
    continuation.onTermination = { _ in relay.cancel() }
    let isClosed = state.withLock { state in
      if !state.isClosed { state.endings.append { continuation.finish() } }
      return state.isClosed
    }
    if isClosed { continuation.finish() }
    return stream
  }
}

/// A handle whose `latestRevision` includes only its own commits, never those of other handles.
final class LateHandle: EngineDecorator {
  let base: any StorageEngine
  private let own = Locked(StoreRevision.zero)

  init(base: any StorageEngine) { self.base = base }

  var latestRevision: StoreRevision { own.withLock { $0 } }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let commit = try await base.commit(batch, from: origin)
    own.withLock { $0 = commit.revision }
    return commit
  }
}
