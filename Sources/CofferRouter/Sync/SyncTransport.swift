import CofferCore
public import Foundation

/// A connection to the user's other devices. Conform to one of its refinements, ``MailboxTransport`` or
/// ``ExchangeTransport``.
public protocol SyncTransport: Sendable {}

/// A transport that keeps only the latest state, such as a watch's application context or a synced folder.
public protocol MailboxTransport: SyncTransport {
  /// Replaces the published state of this device. Returns when the state was handed over, not when it was received.
  /// - Throws: Any error if the state could not be handed over.
  func publish(_ state: Data) async throws
}

/// A transport with requests and replies, such as messages to a reachable watch or to a hub.
public protocol ExchangeTransport: SyncTransport {
  /// Sends a state and returns the reply.
  /// - Parameters:
  ///   - state: the state of this device.
  ///   - timeout: the maximum time to wait for the reply.
  /// - Throws: Any error if the state could not be sent, or if no reply arrived in time.
  func exchange(_ state: Data, timeout: Duration) async throws -> Data
}

/// A transport of both kinds between two routers of one process, for tests and previews.
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

  /// Returns two connected ends.
  public static func pair() -> (InProcessTransport, InProcessTransport) {
    let (left, right) = (Locked(State()), Locked(State()))
    return (InProcessTransport(left, right), InProcessTransport(right, left))
  }

  /// Sets the function that replies to requests of the other end.
  public func answer(_ answer: @escaping @Sendable (Data) async throws -> Data) {
    own.withLock { $0.answer = answer }
  }

  /// The latest state that the other end has published; `nil` before the first.
  public var received: Data? { own.withLock { $0.mailbox } }

  public func publish(_ state: Data) async throws { other.withLock { $0.mailbox = state } }

  public func exchange(_ state: Data, timeout: Duration) async throws -> Data {
    guard let answer = other.withLock({ $0.answer }) else {
      throw StorageError(
        .unavailable, "The other device is not reachable.", advice: "Try again when it is.", location: "sync")
    }
    return try await withThrowingTaskGroup(of: Data.self) { group in
      group.addTask { try await answer(state) }
      group.addTask {
        try await Task.sleep(for: timeout)
        throw StorageError(
          .unavailable, "The other device did not reply in time.", advice: "Try again.", location: "sync")
      }
      defer { group.cancelAll() }
      return try await group.next() ?? Data()
    }
  }
}
