public import CofferCore

/// Activates capabilities in the order of their registration, and deactivates them in reverse.
///
/// ```swift
/// let manager = DefaultCapabilityManager()
/// try await manager.register(persistence, as: "persistence")
/// try await manager.register(search, as: "search", dependsOn: ["persistence"])
/// try await manager.start()     // the persistence, then the search
/// await manager.stop()          // the search, then the persistence
/// ```
///
/// A capability that cannot be activated stops what depends on it and nothing else. ``start()`` activates it again,
/// with what depends on it.
public actor DefaultCapabilityManager {
  private struct Entry {
    let name: KeyName
    let capability: any Capability
    let dependencies: [KeyName]
  }

  private var entries: [Entry] = []
  private nonisolated let feed = LatestValueFeed<[KeyName: CapabilityState]>([:])
  private let turns = KeyedQueue()
  private let turn: KeyName = "turn"

  /// Creates a manager without capabilities.
  public init() {}

  /// Adds a capability. It is activated by the next ``start()``.
  /// - Parameters:
  ///   - capability: the capability.
  ///   - name: its name, which no other capability of the manager has.
  ///   - dependencies: the names of the capabilities that must be active before, which are registered already.
  /// - Throws: `StorageError` with code `unsupported` if the name is taken, or a dependency is not registered.
  public func register(
    _ capability: any Capability, as name: KeyName, dependsOn dependencies: [KeyName] = []
  ) throws {
    guard state(of: name) == nil else {
      throw StorageError(
        .unsupported, "A capability with the name '\(name)' is registered already.",
        advice: "Choose another name. Nothing was changed.")
    }
    if let missing = dependencies.first(where: { state(of: $0) == nil }) {
      throw StorageError(
        .unsupported, "The capability '\(name)' depends on '\(missing)', which is not registered.",
        advice: "Register it before. Nothing was changed.")
    }
    entries.append(Entry(name: name, capability: capability, dependencies: dependencies))
    set(name, .inactive)
  }

  /// The state of a capability; `nil` if there is none of this name.
  public nonisolated func state(of name: KeyName) -> CapabilityState? { feed.value[name] }

  /// Returns a stream of the states of all capabilities: the current states first, then those after each change. Each
  /// call returns a new stream. A slow subscriber may skip intermediate states.
  public nonisolated func states() -> AsyncStream<[KeyName: CapabilityState]> { feed.subscribe() }

  /// Activates every capability that is not active, each after those that it depends on. One that fails does not stop
  /// others; what depends on it stays inactive.
  /// - Throws: The first error of an activation; `CancellationError` when the task was cancelled before the start.
  ///   `StorageError` with code `unavailable` for a capability that was not available after its activation.
  public func start() async throws {
    try await turns.run(turn) {
      var failure: (any Error)?
      for entry in entries where state(of: entry.name) != .active {
        guard entry.dependencies.allSatisfy({ state(of: $0) == .active }) else { continue }
        set(entry.name, .activating)
        do {
          try await activate(entry)
          set(entry.name, .active)
        } catch {
          failure = failure ?? error
          set(entry.name, .failed(reason: "\(error)"))
        }
      }
      if let failure { throw failure }
    }
  }

  /// Deactivates every active capability, each before those that it depends on. Failed ones become inactive; one that
  /// throws is failed.
  public func stop() async {
    // In a task of its own, so that a cancelled caller stops everything too.
    await Task.detached { [self] in await stopAll() }.value
  }

  private func stopAll() async {
    try? await turns.run(turn) {
      for entry in entries.reversed() {
        guard state(of: entry.name) == .active else {
          set(entry.name, .inactive)
          continue
        }
        set(entry.name, .deactivating)
        do {
          try await entry.capability.deactivate()
          set(entry.name, .inactive)
        } catch { set(entry.name, .failed(reason: "\(error)")) }
      }
    }
  }

  private func activate(_ entry: Entry) async throws {
    try await entry.capability.activate()
    guard await entry.capability.isAvailable else {
      try? await entry.capability.deactivate()
      throw StorageError(
        .unavailable, "The capability '\(entry.name)' is not available after its activation.",
        advice: "What depends on it was not activated. Start again when it is available.")
    }
  }

  private func set(_ name: KeyName, _ state: CapabilityState) { feed.update { $0[name] = state } }
}
