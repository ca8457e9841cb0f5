import CofferLocks
public import Foundation

/// A way to the user's other devices. The two shapes that there are: ``MailboxTransport`` and ``ExchangeTransport``.
public protocol SyncTransport: Sendable {}

/// A mailbox of which only the latest state counts, such as a watch's application context or a synced folder.
public protocol MailboxTransport: SyncTransport {
  /// Replaces what this device has put there. Returning means that it was handed over, not that anybody has it.
  func publish(_ state: Data) async throws
}

/// Questions with answers, such as messages to a watch in reach, or a hub.
public protocol ExchangeTransport: SyncTransport {
  /// Sends a state and returns what the other side has answered.
  /// - Parameters:
  ///   - state: what this device has.
  ///   - timeout: how long to wait for the answer.
  func exchange(_ state: Data, timeout: Duration) async throws -> Data
}

/// Both shapes between two routers of one process, for tests and previews.
///
/// ```swift
/// let (phone, watch) = InProcessTransport.pair()
/// watch.answer { request in try await watchRouter.syncSnapshot().encoded }
/// ```
public final class InProcessTransport: MailboxTransport, ExchangeTransport {
  private struct State {
    var mailbox: Data?
    var answer: (@Sendable (Data) async throws -> Data)?
  }

  private let own: Locked<State>
  private let other: Locked<State>

  private init(_ own: Locked<State>, _ other: Locked<State>) {
    self.own = own
    self.other = other
  }

  /// Two ends that are connected.
  public static func pair() -> (InProcessTransport, InProcessTransport) {
    let (left, right) = (Locked(State()), Locked(State()))
    return (InProcessTransport(left, right), InProcessTransport(right, left))
  }

  /// Says how this end answers.
  public func answer(_ answer: @escaping @Sendable (Data) async throws -> Data) {
    own.withLock { $0.answer = answer }
  }

  /// The latest state that the other end has published; `nil` before the first.
  public var received: Data? { own.withLock { $0.mailbox } }

  public func publish(_ state: Data) async throws { other.withLock { $0.mailbox = state } }

  public func exchange(_ state: Data, timeout: Duration) async throws -> Data {
    guard let answer = other.withLock({ $0.answer }) else {
      throw StorageError(
        .unavailable, "The other device is not in reach.", advice: "Try again when it is.", backend: "sync")
    }
    return try await withThrowingTaskGroup(of: Data.self) { group in
      group.addTask { try await answer(state) }
      group.addTask {
        try await Task.sleep(for: timeout)
        throw StorageError(
          .unavailable, "The other device did not answer in time.", advice: "Try again.", backend: "sync")
      }
      defer { group.cancelAll() }
      return try await group.next() ?? Data()
    }
  }
}
