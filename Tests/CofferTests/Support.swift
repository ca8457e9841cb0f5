import Coffer
import CofferCore
import Foundation
import Synchronization
import Testing

struct Note: Codable, Hashable, Sendable {
  var title: String
  var count = 0
}

enum Theme: String, Codable, Sendable { case system, dark }

/// An engine that counts reads, can make reads and commits fail, and runs hooks after reads and before commits.
final class ProbeEngine: StorageEngine {
  private let base: any StorageEngine
  private let counter = Atomic<Int>(0)
  private let failure = Locked<StorageError?>(nil)
  private let commitHook = Locked<(@Sendable () async -> Void)?>(nil)
  private let readHook = Locked<(@Sendable () async -> Void)?>(nil)
  private let missing: StoreCapabilities.Features
  private let maximumValueSize: Int?
  let forgetsCommits: Bool
  let clock: StoreClock

  init(
    _ base: any StorageEngine = MemoryEngine(), without missing: StoreCapabilities.Features = [],
    forgetsCommits: Bool = false, clock: StoreClock = .system, maximumValueSize: Int? = nil
  ) {
    self.base = base
    self.maximumValueSize = maximumValueSize
    self.clock = clock
    self.missing = missing
    self.forgetsCommits = forgetsCommits
  }

  var reads: Int { counter.load(ordering: .sequentiallyConsistent) }
  func fail(_ error: StorageError?) { failure.withLock { $0 = error } }
  /// Sets a hook that runs after a read has its result and before it returns.
  func afterRead(_ hook: (@Sendable () async -> Void)?) { readHook.withLock { $0 = hook } }
  /// Sets a hook that runs before each commit.
  func beforeCommit(_ hook: (@Sendable () async -> Void)?) { commitHook.withLock { $0 = hook } }

  var capabilities: StoreCapabilities {
    StoreCapabilities(
      base.capabilities.features.subtracting(missing),
      maximumValueSize: maximumValueSize ?? base.capabilities.maximumValueSize)
  }
  var description: String { "probe" }
  var latestRevision: StoreRevision { base.latestRevision }
  var latestPosition: JournalPosition { base.latestPosition }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    if let error = failure.withLock({ $0 }) { throw error }
    await commitHook.withLock { $0 }?()
    for case .put(let key, let value, _) in batch.operations where value.count > capabilities.maximumValueSize {
      throw StorageError(.valueTooLarge, "The value is too large.", key: key)
    }
    return try await base.commit(batch, from: origin)
  }

  func entry(_ key: KeyName) async throws -> StoreEntry? { try await read { try await base.entry(key) } }
  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] { try await read { try await base.entries(keys) } }

  func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await read { try await base.withSnapshot(body) }
  }

  func recentCommits(after revision: StoreRevision) -> [StoreCommit]? {
    forgetsCommits ? nil : base.recentCommits(after: revision)
  }
  func changes(since position: JournalPosition?) -> AsyncStream<StoreChange> { base.changes(since: position) }
  func availability() -> AsyncStream<StoreAvailability> { base.availability() }
  func close() async throws { try await base.close() }

  private func read<R>(_ body: () async throws -> R) async throws -> R {
    counter.add(1, ordering: .sequentiallyConsistent)
    if let error = failure.withLock({ $0 }) { throw error }
    let result = try await body()
    await readHook.withLock { $0 }?()
    return result
  }
}

/// A third-party adapter that can become unreachable.
actor ThirdPartyAdapter: StorageAdapter {
  struct Unreachable: Error {}
  private var values: [KeyName: Data] = [:]
  private(set) var isReachable = true

  func setReachable(_ isReachable: Bool) { self.isReachable = isReachable }

  func read(key: String) async throws -> Data? {
    guard isReachable else { throw Unreachable() }
    return try values[KeyName(key)]
  }
  func write(key: String, data: Data) async throws { try values[KeyName(key)] = data }
  func delete(key: String) async throws { try values[KeyName(key)] = nil }
  func exists(key: String) async -> Bool {
    guard let key = try? KeyName(key) else { return false }
    return !isReachable || values[key] != nil
  }
}

/// Returns the code of the `StorageError` that `body` throws, or `nil` if it throws none.
func codeThrown(_ body: () async throws -> Void) async -> StorageError.Code? {
  do { try await body() } catch let error as StorageError { return error.code } catch {}
  return nil
}

let unavailable = StorageError(.unavailable, "The keyring is locked.")
