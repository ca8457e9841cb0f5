public import CofferCore

/// An engine that forwards every call to another engine, except that it fails or delays the calls a test selects.
///
/// ```swift
/// let engine = FaultInjectingEngine(MemoryEngine())
/// let store = TypedStore(engine: engine)
/// engine.inject(.fail(StorageError(.diskFull, "No space is left.")), into: .commit, at: 3)
/// // The third commit from now fails; the fourth succeeds.
/// ```
///
/// Without injected faults it has all the guarantees of the wrapped engine and passes ``StorageConformance``.
public final class FaultInjectingEngine: EngineDecorator {
  /// A kind of call. The calls of each kind are counted separately.
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

  /// A fault that can be injected into a call.
  public enum Fault: Sendable {
    /// The call throws without calling the wrapped engine.
    case fail(StorageError)
    /// The wrapped engine completes the call, then the call throws. This simulates `StorageError` `.outcomeUnknown`.
    case failAfter(StorageError)
    /// The call is delayed. The delay ends early, with `CancellationError`, if the task is cancelled.
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

  /// Creates an engine over another one, without faults.
  /// - Parameters:
  ///   - base: the engine to wrap.
  ///   - clock: the clock of delays; pass a ``ManualClock`` to control when they end.
  public init(_ base: any StorageEngine, clock: any Clock<Duration> = ContinuousClock()) {
    self.base = base
    self.clock = clock
  }

  /// Injects a fault into one or more later calls.
  /// - Parameters:
  ///   - fault: the fault to inject.
  ///   - call: the kind of call.
  ///   - number: the number of the first affected call, counted from now; 1 is the next call.
  ///   - times: the number of consecutive calls that are affected; `nil` for all that follow.
  public func inject(_ fault: Fault, into call: Call, at number: Int = 1, times: Int? = 1) {
    precondition(number >= 1 && (times ?? 1) >= 1, "Calls are counted from 1.")
    state.withLock { state in
      let first = (state.counts[call] ?? 0) + number
      let (last, isEndless) = first.addingReportingOverflow((times ?? .max) - 1)
      state.plans.append(Plan(fault: fault, call: call, numbers: first...(isEndless ? .max : last)))
    }
  }

  /// Removes all injected faults. Delays that have already begun continue.
  public func removeFaults() { state.withLock { $0.plans.removeAll() } }

  /// Returns the number of calls of the given kind so far, including failed ones.
  public func count(of call: Call) -> Int { state.withLock { $0.counts[call] ?? 0 } }

  @discardableResult
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await call(.commit) { try await base.commit(batch, from: origin) }
  }

  public func entry(_ key: KeyName) async throws -> StoreEntry? {
    try await call(.read) { try await base.entry(key) }
  }

  public func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await call(.read) { try await base.entries(keys) }
  }

  public func record(_ name: SystemRecord.Name) async throws -> SystemRecord? {
    try await call(.read) { try await base.record(name) }
  }

  public func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
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

  /// Counts a call and applies the faults that are planned for its number.
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

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    try await engine.call(.read) { try await base.entries(keys) }
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    try await engine.call(.read) { try await base.summary(of: key) }
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    try await engine.call(.read) { try await base.page(prefix: prefix, after: after, limit: limit) }
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    try await engine.call(.read) { try await base.summaries(prefix: prefix, after: after, limit: limit) }
  }
}
