import Coffer
import CofferCore

/// A key that is migrated: its name and its store, which stay the same when its catalog is registered meanwhile.
struct MigrationTarget: Hashable, Sendable {
  let key: KeyName
  let location: KeyRegistry.Record.Location

  init(_ record: KeyRegistry.Record) { (key, location) = (record.key, record.location) }
}

/// The migrations that a task is in, each begun by an access of the one before it.
struct MigrationScope: Sendable {
  @TaskLocal private static var current: MigrationScope?

  private let registry: ObjectIdentifier
  /// The keys that are being migrated, the innermost last.
  private(set) var targets: [MigrationTarget]
  /// The name of the innermost migration.
  let name: String

  /// Returns the migrations of a router that the task is in.
  static func current(_ registry: KeyRegistry) -> MigrationScope? {
    current.flatMap { $0.registry == ObjectIdentifier(registry) ? $0 : nil }
  }

  /// Runs `body` as the migration of a key.
  static func enter<R: Sendable>(
    _ target: MigrationTarget, _ name: String, _ registry: KeyRegistry, _ body: @Sendable () async throws -> R
  ) async throws -> R {
    let outer = current(registry)?.targets ?? []
    let scope = MigrationScope(registry: ObjectIdentifier(registry), targets: outer + [target], name: name)
    return try await $current.withValue(scope, operation: body)
  }

  /// Whether the task is the innermost migration of a key, whose accesses to the key must not wait for it.
  func isMigrating(_ target: MigrationTarget) -> Bool { targets.last == target }
}

/// The running migrations of a router: one for each key, however many accesses wait for it.
final class MigrationRuns: Sendable {
  private struct State {
    var running: [MigrationTarget: Run] = [:]
    /// The migrations whose ends a migration waits for.
    var awaited: [MigrationTarget: [MigrationTarget]] = [:]

    /// Whether the migration of a key waits for that of another one, directly or not.
    func waits(_ target: MigrationTarget, for other: MigrationTarget) -> Bool {
      var (open, seen): ([MigrationTarget], Set<MigrationTarget>) = ([target], [])
      while let next = open.popLast() {
        if next == other { return true }
        if seen.insert(next).inserted { open += awaited[next] ?? [] }
      }
      return false
    }
  }

  /// A migration that is under way.
  private final class Run: Sendable {
    let isForced: Bool
    init(isForced: Bool) { self.isForced = isForced }
    let end = Promise<Void>()
    let result = Locked<MigrationResult?>(nil)
  }

  private let state = Locked(State())

  /// Returns the result of the migration of a key, and starts it if it is not under way.
  /// - Parameters:
  ///   - target: the key.
  ///   - waiter: the key whose migration waits for this one, if any.
  ///   - isForced: whether an ordinary run under way is followed by one of its own.
  ///   - limit: the time after which the caller waits no longer; the migration goes on.
  ///   - migrate: the migration. It goes on if the caller is cancelled.
  /// - Throws: the error of the migration; `invalidDeclaration` if it waits for that of `waiter`; `busy` after `limit`;
  ///   `CancellationError`.
  func result(
    of target: MigrationTarget, for waiter: MigrationTarget?, isForced: Bool, within limit: Duration?,
    _ migrate: @escaping @Sendable () async throws -> MigrationResult
  ) async throws -> MigrationResult {
    while true {
      let (run, isNew) = try begin(target, for: waiter, isForced: isForced)
      if isNew { start(run, target, migrate) }
      defer { if let waiter { stopWaiting(waiter, for: target) } }
      do {
        if let limit {
          try await run.end.value(within: limit, orThrow: StorageError.slowMigration(target, limit))
        } else {
          try await run.end.value()
        }
      } catch  where isForced && !run.isForced && !Task.isCancelled {}
      if !isForced || run.isForced { return run.result.withLock { $0 } ?? MigrationResult(success: true) }
    }
  }

  private func begin(
    _ target: MigrationTarget, for waiter: MigrationTarget?, isForced: Bool
  ) throws -> (run: Run, isNew: Bool) {
    try state.withLock { state throws in
      if let waiter {
        guard !state.waits(target, for: waiter) else { throw StorageError.cyclicMigrations(target, waiter) }
        state.awaited[waiter, default: []].append(target)
      }
      if let run = state.running[target] { return (run, false) }
      let run = Run(isForced: isForced)
      state.running[target] = run
      return (run, true)
    }
  }

  private func stopWaiting(_ waiter: MigrationTarget, for target: MigrationTarget) {
    state.withLock { state in
      if let index = state.awaited[waiter]?.firstIndex(of: target) { state.awaited[waiter]?.remove(at: index) }
      if state.awaited[waiter]?.isEmpty == true { state.awaited[waiter] = nil }
    }
  }

  private func start(
    _ run: Run, _ target: MigrationTarget, _ migrate: @escaping @Sendable () async throws -> MigrationResult
  ) {
    Task {
      let outcome: Result<Void, any Error>
      do {
        let result = try await migrate()
        run.result.withLock { $0 = result }
        outcome = .success(())
      } catch { outcome = .failure(error) }
      state.withLock { $0.running[target] = nil }
      run.end.end(outcome)
    }
  }
}

extension StorageError {
  fileprivate static func slowMigration(_ target: MigrationTarget, _ limit: Duration) -> StorageError {
    StorageError(
      .busy, "The migration of the key has not ended within \(limit).",
      advice:
        "It goes on: try again later. Nothing was read or written by this call. A migration that waits for its own "
        + "key in another task never ends.", key: target.key)
  }

  static func cyclicMigrations(_ one: MigrationTarget, _ other: MigrationTarget) -> StorageError {
    let names = [one, other].map { "'\($0.key.string.escapingControlCharacters)'" }
    return StorageError(
      .invalidDeclaration, "The migrations of \(names[0]) and \(names[1]) wait for each other.",
      advice: "Let one of them read keys that have no migration. Nothing was changed.", key: one.key)
  }
}
