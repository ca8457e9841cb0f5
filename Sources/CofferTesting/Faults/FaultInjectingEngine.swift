public import CofferCore
import CofferLocks

/// Passes every call on to another engine, and fails or delays those that a test names.
///
/// ```swift
/// let engine = FaultInjectingEngine(MemoryEngine())
/// let store = TypedStore(engine: engine)
/// engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 3)
/// // The third commit from now fails; the fourth succeeds.
/// ```
///
/// As long as nothing is injected it keeps every promise of the engine below, and passes ``StorageConformance``.
public final class FaultInjectingEngine: EngineDecorator {
  /// A kind of call, counted on its own.
  public enum Call: Hashable, Sendable, CaseIterable {
    /// `commit`.
    case commit
    /// `entry`, `entries`, `summary`, and each read inside a snapshot.
    case read
    /// `withSnapshot`, before its body runs.
    case snapshot
    /// `flush`.
    case flush
  }

  /// What goes wrong.
  public enum Fault: Sendable {
    /// The call throws, and the engine below does not hear of it.
    case fail(StorageError)
    /// The engine below does it, then the call throws: this is what
    /// `StorageError` `.outcomeUnknown` means.
    case failAfter(StorageError)
    /// The call waits first. The wait ends early, with `CancellationError`, when the task is cancelled.
    case delay(Duration)
  }

  private struct Plan {
    let fault: Fault
    let call: Call
    let numbers: ClosedRange<Int>
  }

  private struct State {
    var plans: [Plan] = []
    var counts: [Call: Int] = [:]
  }

  public let base: any StorageEngine
  private let clock: any Clock<Duration>
  private let state = Locked(State())

  /// A quiet engine over another one.
  /// - Parameters:
  ///   - base: does the work.
  ///   - clock: what delays wait for; give a ``ManualClock`` to decide when they end.
  public init(_ base: any StorageEngine, clock: any Clock<Duration> = ContinuousClock()) {
    self.base = base
    self.clock = clock
  }

  /// Lets calls go wrong.
  /// - Parameters:
  ///   - fault: what goes wrong.
  ///   - call: the kind of call.
  ///   - number: the first call that it happens to, counted from now: 1 is the next one.
  ///   - times: how many calls in a row it happens to; `nil` for all that follow.
  public func inject(_ fault: Fault, into call: Call, at number: Int = 1, times: Int? = 1) {
    precondition(number >= 1 && (times ?? 1) >= 1, "Calls are counted from 1.")
    state.withLock { state in
      let first = (state.counts[call] ?? 0) + number
      let (last, isEndless) = first.addingReportingOverflow((times ?? .max) - 1)
      state.plans.append(Plan(fault: fault, call: call, numbers: first...(isEndless ? .max : last)))
    }
  }

  /// Takes back everything that was injected. Delays that have begun go on.
  public func removeFaults() { state.withLock { $0.plans.removeAll() } }

  /// How many calls of that kind there were, failed ones included.
  public func count(of call: Call) -> Int { state.withLock { $0.counts[call] ?? 0 } }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await call(.commit) { try await base.commit(batch, from: origin) }
  }

  public func entry(_ key: StoreKey) async throws -> StoreEntry? {
    try await call(.read) { try await base.entry(key) }
  }

  public func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    try await call(.read) { try await base.entries(keys) }
  }

  public func record(_ name: SystemRecordName) async throws -> SystemRecord? {
    try await call(.read) { try await base.record(name) }
  }

  public func summary(of key: StoreKey) async throws -> StoreEntrySummary? {
    try await call(.read) { try await base.summary(of: key) }
  }

  public func withSnapshot<R: Sendable>(
    _ body: @Sendable (any StorageSnapshot) async throws -> R
  ) async throws -> R {
    try await call(.snapshot) {
      try await base.withSnapshot { try await body(FaultInjectingSnapshot(base: $0, engine: self)) }
    }
  }

  public func flush() async throws { try await call(.flush) { try await base.flush() } }

  /// Counts a call and lets happen to it what is planned for its number.
  fileprivate func call<R>(_ call: Call, _ body: () async throws -> R) async throws -> R {
    let faults = state.withLock { state -> [Fault] in
      let number = (state.counts[call] ?? 0) + 1
      state.counts[call] = number
      defer { state.plans.removeAll { $0.call == call && $0.numbers.upperBound <= number } }
      return state.plans.filter { $0.call == call && $0.numbers.contains(number) }.map(\.fault)
    }
    for case .delay(let duration) in faults { try await clock.sleep(for: duration) }
    for case .fail(let error) in faults { throw error }
    let result = try await body()
    for case .failAfter(let error) in faults { throw error }
    return result
  }
}

private struct FaultInjectingSnapshot: StorageSnapshot {
  let base: any StorageSnapshot
  let engine: FaultInjectingEngine

  var revision: StoreRevision { base.revision }

  func entries(_ keys: [StoreKey]) async throws -> [StoreEntry?] {
    try await engine.call(.read) { try await base.entries(keys) }
  }

  func page(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntry] {
    try await engine.call(.read) { try await base.page(prefix: prefix, after: after, limit: limit) }
  }

  func summaries(prefix: StoreKey?, after: StoreKey?, limit: Int) async throws -> [StoreEntrySummary] {
    try await engine.call(.read) { try await base.summaries(prefix: prefix, after: after, limit: limit) }
  }
}
