import CofferCore
import Foundation

/// Watches the steps of a migration, one after the other, so that one that does not return holds up nothing else.
///
/// A task and a timer for each step would cost more than the rest of a value's migration: one task runs the steps of
/// many values, and one timer sleeps until the present step could be late.
final class StepWatch: Sendable {
  private struct State {
    /// The end of the present step's time, and its error.
    var deadline: ContinuousClock.Instant?
    var late: (@Sendable () -> StorageError)?
  }

  private let state = Locked(State())
  private let outcome = Promise<Void>()
  /// The shortest limit of the steps: none that begins now is late earlier.
  private let shortest: Duration

  private init(shortest: Duration) { self.shortest = shortest }

  /// Runs `body` in a task of its own, which runs steps by ``step(within:late:_:)``.
  /// - Parameter shortest: the shortest limit of these steps.
  /// - Throws: the error of a step that is late; its task is cancelled and left behind. Any error of `body`.
  ///   `CancellationError`.
  static func run(shortest: Duration, _ body: @escaping @Sendable (StepWatch) async throws -> Void) async throws {
    let watch = StepWatch(shortest: shortest)
    let work = Task {
      do {
        try await body(watch)
        watch.outcome.end(.success(()))
      } catch {
        watch.outcome.end(.failure(error))
      }
    }
    let timer = Task { try await watch.look() }
    defer { timer.cancel() }
    do { try await watch.outcome.value() } catch {
      work.cancel()
      throw error
    }
  }

  /// Runs one step.
  func step<R>(
    within limit: Duration, late: @escaping @Sendable () -> StorageError, _ body: () async throws -> R
  ) async throws -> R {
    state.withLock { ($0.deadline, $0.late) = (.now + limit, late) }
    defer { state.withLock { ($0.deadline, $0.late) = (nil, nil) } }
    return try await body()
  }

  private func look() async throws {
    while true {
      let now = ContinuousClock.now
      let (next, late) = state.withLock { state -> (ContinuousClock.Instant, (@Sendable () -> StorageError)?) in
        guard let deadline = state.deadline else { return (now + shortest, nil) }
        return deadline > now ? (min(deadline, now + shortest), nil) : (now, state.late)
      }
      if let late {
        outcome.end(.failure(late()))
        return
      }
      try await Task.sleep(until: next, tolerance: .zero, clock: .continuous)
    }
  }
}
