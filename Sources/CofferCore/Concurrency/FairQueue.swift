/// The tasks that wait, in the order of their arrival, for something in a locked state, of which this queue is a part.
///
/// ```swift
/// struct State { var free = 4, waiting = FairQueue<Void>() }
/// let state = Locked(State())
///
/// try await state.wait(in: \.waiting) { state in
///   guard state.free > 0 else { return nil }
///   state.free -= 1
///   return ()
/// }
/// defer {
///   let next = state.withLock { state in
///     let next = state.waiting.takeFirst()
///     if next == nil { state.free += 1 }
///     return next
///   }
///   next?.resume()
/// }
/// ```
///
/// Whoever takes a task out of the queue resumes it after the lock is released: resuming a task waits for the handlers
/// of its cancellation, and these wait for the lock.
package struct FairQueue<Found: Sendable>: Sendable {
  package typealias Waiter = CheckedContinuation<Found, any Error>

  private var waiters: [(ticket: Ticket, waiter: Waiter)] = []

  package init() {}

  package var isEmpty: Bool { waiters.isEmpty }
  package var count: Int { waiters.count }

  /// Removes the task that has waited longest.
  package mutating func takeFirst() -> Waiter? { waiters.isEmpty ? nil : waiters.removeFirst().waiter }

  /// Removes all tasks.
  package mutating func takeAll() -> [Waiter] {
    guard !waiters.isEmpty else { return [] }
    defer { waiters = [] }
    return waiters.map(\.waiter)
  }

  fileprivate mutating func append(_ waiter: Waiter, _ ticket: Ticket) { waiters.append((ticket, waiter)) }

  fileprivate func index(of ticket: Ticket) -> Int? { waiters.firstIndex { $0.ticket === ticket } }

  fileprivate mutating func remove(at index: Int) -> Waiter { waiters.remove(at: index).waiter }
}

/// What a waiting task is recognized by. Not a number of the queue: another one may take its place in the state.
private final class Ticket: Sendable {}

extension Locked {
  /// Waits in a queue of the state until a task is taken out of it and resumed.
  /// - Parameters:
  ///   - queue: the queue.
  ///   - found: returns what the caller need not wait for, or `nil`. It is called under the lock, before the caller
  ///     joins the queue.
  /// - Throws: The error of `found`, the one that the task is resumed with, or `CancellationError` if it is cancelled
  ///   while it waits.
  package func wait<Found>(
    in queue: any WritableKeyPath<Value, FairQueue<Found>> & Sendable,
    unless found: @Sendable (inout Value) throws -> Found?
  ) async throws -> Found {
    if let value = try withLock({ try found(&$0) }) { return value }
    let ticket = Ticket()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiter in
        let result = withLock { state -> Result<Found, any Error>? in
          do {
            if let value = try found(&state) { return .success(value) }
          } catch { return .failure(error) }
          // A cancellation before this point found nobody in the queue; a later one finds the task.
          if Task.isCancelled { return .failure(CancellationError()) }
          state[keyPath: queue].append(waiter, ticket)
          return nil
        }
        if let result { waiter.resume(with: result) }
      }
    } onCancel: {
      let waiter = withLock { state in
        state[keyPath: queue].index(of: ticket).map { state[keyPath: queue].remove(at: $0) }
      }
      waiter?.resume(throwing: CancellationError())
    }
  }
}
