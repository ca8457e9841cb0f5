import Coffer
import CofferCore

/// Activates capabilities in the order of their dependencies, and deactivates them in reverse.
///
/// ```swift
/// let manager = DefaultCapabilityManager()
/// try await manager.register(persistence, as: "persistence")
/// try await manager.register(search, as: "search", dependsOn: ["persistence"])
/// try await manager.start()     // the persistence, then the search
/// await manager.stop()          // the search, then the persistence
/// ```
///
/// Each call of a capability has a deadline, after which ``start()`` and ``stop()`` go on without it. An abandoned call
/// is not ended; the capability is not called again before it has returned.
///
/// A capability that fails, at its activation or by becoming unavailable later (``ReportingCapability``), stops what
/// depends on it and nothing else. ``start()`` activates it again, with what depends on it.
public actor DefaultCapabilityManager {
  private struct Entry {
    let capability: any Capability
    let dependencies: [CapabilityID]
    let calls: CapabilityCalls
    var watch: Task<Void, Never>?
  }

  private let deadline: Duration
  private let clock: any Clock<Duration>
  private var entries: [CapabilityID: Entry] = [:]
  private var registered: [CapabilityID] = []
  private nonisolated let feed = LatestValueFeed<[CapabilityID: CapabilityState]>([:])
  private let turns = KeyedQueue()
  private let turn: KeyName = "turn"

  /// Creates a manager without capabilities.
  /// - Parameters:
  ///   - deadline: the time that each call of a capability may take, unless another is given with the capability.
  ///   - clock: the clock of the deadlines.
  public init(deadline: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock()) {
    (self.deadline, self.clock) = (deadline, clock)
  }

  /// Adds a capability. It is activated by the next ``start()``.
  /// - Parameters:
  ///   - capability: the capability.
  ///   - name: its name, which no other capability of the manager has.
  ///   - dependencies: the names of the capabilities that must be active before; they may be registered later.
  ///   - deadline: the time that each of its calls may take; that of the manager by default.
  /// - Throws: `StorageError` with code `unsupported` if the name is taken.
  public func register(
    _ capability: any Capability, as name: CapabilityID, dependsOn dependencies: [CapabilityID] = [],
    deadline: Duration? = nil
  ) throws {
    guard entries[name] == nil else {
      throw StorageError(
        .unsupported, "A capability with the name '\(name)' is registered already.",
        advice: "Choose another name. Nothing was changed.")
    }
    entries[name] = Entry(
      capability: capability, dependencies: dependencies,
      calls: CapabilityCalls(name, capability, deadline: deadline ?? self.deadline, clock: clock))
    registered.append(name)
    set(name, .inactive)
  }

  /// The state of a capability; `nil` if there is none of this name.
  public nonisolated func state(of name: CapabilityID) -> CapabilityState? { feed.value[name] }

  /// Returns a stream of the states of all capabilities: the current states first, then those after each change. Each
  /// call returns a new stream. A slow subscriber may skip intermediate states.
  public nonisolated func states() -> AsyncStream<[CapabilityID: CapabilityState]> { feed.subscribe() }

  /// Activates every capability that is not active, each after those that it depends on. One that fails does not stop
  /// others; what depends on it stays inactive.
  /// - Throws: The first error of an activation; `CancellationError` when the task was cancelled before the start.
  ///   `StorageError`: `unsupported` for an unknown dependency or a cycle, in which case nothing was activated;
  ///   `unavailable` for a call that exceeded its deadline and for a capability that was not available after its
  ///   activation.
  public func start() async throws {
    try await turns.run(turn) {
      var failure: (any Error)?
      for name in try order() where state(of: name) != .active {
        guard let entry = entries[name] else { continue }
        guard entry.dependencies.allSatisfy({ state(of: $0) == .active }) else { continue }
        set(name, .activating)
        do {
          try await activate(name, entry)
          set(name, .active)
          watch(name, entry)
        } catch {
          failure = failure ?? error
          set(name, .failed(reason: "\(error)"))
        }
      }
      if let failure { throw failure }
    }
  }

  /// Deactivates every active capability, each before those that it depends on. Failed ones become inactive; one that
  /// throws, or is not deactivated within its deadline, is failed.
  public func stop() async {
    // In a task of its own, so that a cancelled caller stops everything too.
    await Task.detached { [self] in await stopAll() }.value
  }

  private func stopAll() async {
    try? await turns.run(turn) {
      for name in ((try? order()) ?? registered).reversed() {
        if state(of: name) == .active { await deactivate(name) } else { set(name, .inactive) }
      }
    }
  }

  private func order() throws -> [CapabilityID] {
    try CapabilityOrder(registered.map { ($0, entries[$0]?.dependencies ?? []) }).names
  }

  private func set(_ name: CapabilityID, _ state: CapabilityState) {
    feed.update { $0[name] = state }
  }

  private func activate(_ name: CapabilityID, _ entry: Entry) async throws {
    try await entry.calls.activate()
    let isAvailable: Bool
    do { isAvailable = try await entry.calls.isAvailable() } catch {
      try? await entry.calls.deactivate()
      throw error
    }
    guard isAvailable else {
      try? await entry.calls.deactivate()
      throw StorageError(
        .unavailable, "The capability '\(name)' is not available after its activation.",
        advice: "What depends on it was not activated. Start again when it is available.")
    }
  }

  private func deactivate(_ name: CapabilityID) async {
    set(name, .deactivating)
    entries[name]?.watch?.cancel()
    entries[name]?.watch = nil
    do {
      try await entries[name]?.calls.deactivate()
      set(name, .inactive)
    } catch { set(name, .failed(reason: "\(error)")) }
  }

  /// Follows the availability of an active capability, if it reports it.
  private func watch(_ name: CapabilityID, _ entry: Entry) {
    guard let reporting = entry.capability as? any ReportingCapability else { return }
    let availability = reporting.availability()
    entries[name]?.watch = Task.detached { [weak self] in
      for await present in availability {
        guard case .unavailable(let reason) = present else { continue }
        // In a task of its own: stopping the capability cancels this one.
        await Task.detached { [weak self] in await self?.lost(name, reason) }.value
        return
      }
    }
  }

  /// Stops what depends on a capability that has become unavailable, then the capability.
  private func lost(_ name: CapabilityID, _ reason: String) async {
    try? await turns.run(turn) {
      guard state(of: name) == .active, entries[name]?.watch?.isCancelled == false else { return }
      var affected: Set = [name]
      let order = (try? order()) ?? registered
      for other in order where !affected.isDisjoint(with: entries[other]?.dependencies ?? []) {
        affected.insert(other)
      }
      for other in order.reversed() where other != name && affected.contains(other) && state(of: other) == .active {
        await deactivate(other)
      }
      await deactivate(name)
      set(name, .failed(reason: reason))
    }
  }
}
