import CofferCore

/// Sends the automatically synced values of a router after each change, by any writer of any process.
///
/// A change only marks the state as unsent. One task reads the current state and sends it, so all changes during a send
/// share the next one. Each pass subscribes to the open stores before it reads them: a commit is either read or
/// delivered afterwards.
///
/// The router owns the follower, which refers to it weakly: neither a send nor a pause keeps the router alive.
final class SyncFollower: Sendable {
  /// The time after a send during which changes are collected.
  private static let interval = Duration.milliseconds(100)
  /// The longest pause between two attempts that fail; the first one lasts a second, and each doubles it.
  private static let longestPause = Duration.seconds(60)

  private struct State {
    weak var router: StorageRouter?
    var streams: [DomainLocation: Task<Void, Never>] = [:]
    /// Whether the state may differ from what was sent.
    var isUnsent = false
    var isEnded = false
    var worker: Task<Void, Never>?
    var pause: Task<Void, Never>?
    /// The end of the present pass, and that of the next one.
    var present: Promise<Void>?
    var next: Promise<Void>?
  }

  private let sync: SyncHelper
  private let onFailure: (@Sendable (any Error) -> Void)?
  private let state = Locked(State())

  init(_ sync: SyncHelper, onFailure: (@Sendable (any Error) -> Void)?) {
    self.sync = sync
    self.onFailure = onFailure
  }

  func attach(_ router: StorageRouter) { state.withLock { $0.router = router } }

  /// Ends the streams and the present send, as far as the transport reacts to cancellation. Nothing is sent afterwards.
  func end() {
    let (tasks, awaited) = state.withLock { state in
      state.isEnded = true
      defer { (state.streams, state.present, state.next) = ([:], nil, nil) }
      return (
        Array(state.streams.values) + [state.worker, state.pause].compactMap(\.self),
        [state.present, state.next].compactMap(\.self)
      )
    }
    for task in tasks { task.cancel() }
    for pass in awaited { pass.end(.failure(StorageError.closed("router"))) }
  }

  // MARK: Changes

  /// Marks the state as unsent. Returns at once.
  func changed() { state.withLock { begin(&$0) } }

  /// Ends the present pause, for example because the transport has just worked.
  func retryNow() { state.withLock { $0.pause }?.cancel() }

  private func begin(_ state: inout State) {
    guard !state.isEnded else { return }
    state.isUnsent = true
    if state.worker == nil { state.worker = Task { await self.work() } }
  }

  /// Subscribes to a store unless that was done before.
  func follow(_ location: DomainLocation, _ engine: any StorageEngine) {
    guard state.withLock({ !$0.isEnded && $0.streams[location] == nil }) else { return }
    let changes = engine.changes(since: nil)
    let stream = Task { [weak self] in
      for await change in changes {
        guard let self else { return }
        if self.concerns(change, location) { self.changed() }
      }
    }
    let isKept = state.withLock { state in
      guard !state.isEnded, state.streams[location] == nil else { return false }
      state.streams[location] = stream
      return true
    }
    if !isKept { stream.cancel() }
  }

  private func concerns(_ change: StoreChange, _ location: DomainLocation) -> Bool {
    guard case .commit(let commit) = change else { return true }
    guard let registry = state.withLock({ $0.router })?.registry else { return false }
    let changed = commit.changed
    // Removals of many keys are rare, and a state that has not changed is not sent again.
    return changed.isEverything || !changed.prefixes.isEmpty || !changed.records.isEmpty
      || changed.keys.contains { registry.sendsAutomatically($0, in: location) }
  }

  // MARK: Waiting

  /// Waits for a pass that begins after the call.
  /// - Throws: The error of the pass, `unavailable` when the time is over, `closed`, `CancellationError`.
  func wait(within limit: Duration) async throws {
    try Task.checkCancellation()
    let (pass, pause) = try state.withLock { state throws in
      guard !state.isEnded else { throw StorageError.closed("router") }
      let pass = state.next ?? Promise()
      state.next = pass
      begin(&state)
      return (pass, state.pause)
    }
    pause?.cancel()
    try await pass.value(within: limit, orThrow: StorageError.unsent(after: limit))
  }

  // MARK: Sending

  private func work() async {
    var pause = Duration.seconds(1)
    while let pass = nextPass() {
      do {
        try await send()
        pass.end(.success(()))
        pause = .seconds(1)
        await rest(Self.interval)
      } catch {
        guard !isEnded else {
          pass.end(.failure(StorageError.closed("router")))
          return
        }
        // The failure is reported before the waiting callers continue.
        onFailure?(error)
        pass.end(.failure(error))
        changed()
        await rest(pause)
        pause = min(pause * 2, Self.longestPause)
      }
    }
  }

  private var isEnded: Bool {
    // The reference leaves the lock: the router ends the follower if this is the last one.
    let (isEnded, router) = state.withLock { ($0.isEnded, $0.router) }
    return isEnded || router == nil
  }

  /// Begins the next pass and returns its end, or `nil` if nothing is unsent.
  private func nextPass() -> Promise<Void>? {
    state.withLock { state in
      guard state.isUnsent, !state.isEnded else {
        state.worker = nil
        return nil
      }
      state.isUnsent = false
      let pass = state.next ?? Promise()
      (state.present, state.next) = (pass, nil)
      return pass
    }
  }

  private func rest(_ duration: Duration) async {
    let pause = Task { _ = try? await Task.sleep(for: duration) }
    let isAwaited = state.withLock { state in
      state.pause = pause
      return state.isEnded || state.next != nil
    }
    if isAwaited { pause.cancel() }
    await pause.value
  }

  /// Sends the current state, unless it was sent before.
  /// - Throws: The error of the transport, or else the first one of a value that could not be read.
  private func send() async throws {
    let unreadable = Locked<(any Error)?>(nil)
    _ = try await sync.send { [self] in
      guard let router = state.withLock({ $0.router }) else { throw CancellationError() }
      let (snapshot, failure) = try await router.automaticSnapshot()
      unreadable.withLock { $0 = failure }
      // What an earlier process has sent is replaced by a request, not by a state that says nothing.
      guard !snapshot.isEmpty else { return await sync.hasSent ? snapshot : nil }
      return snapshot
    }
    if let failure = unreadable.withLock({ $0 }) { throw failure }
  }
}

extension StorageError {
  fileprivate static func unsent(after limit: Duration) -> StorageError {
    StorageError(
      .unavailable, "The state was not sent within \(limit).",
      advice: "Check the transport. The values are stored, and are sent once it works.", location: "sync")
  }

  static var noTransport: StorageError {
    StorageError(
      .unsupported, "No transport is configured.", advice: "Set StorageConfiguration.sync.transport.",
      location: "sync")
  }
}
