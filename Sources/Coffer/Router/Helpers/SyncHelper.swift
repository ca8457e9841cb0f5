import Foundation

/// Sends states to another device (document 4), each once.
public actor SyncHelper {
  private let transport: (any SyncTransport)?
  private let timeout: Duration
  private var sent: Data?
  private var forgotten = 0
  private var last: Task<Bool, any Error>?

  /// - Parameters:
  ///   - transport: the way there; without one nothing can be sent.
  ///   - timeout: how long to wait for an answer, where the transport gives one.
  public init(transport: (any SyncTransport)?, timeout: Duration = .seconds(10)) {
    self.transport = transport
    self.timeout = timeout
  }

  /// Whether there is anybody to send to.
  public var isAvailable: Bool { transport != nil }

  /// Sends a snapshot, unless it was sent last. One is sent at a time and taken when its turn comes: an older one never
  /// replaces a newer one.
  /// - Returns: Whether it was sent.
  /// - Throws: `unsupported` without a transport, and what `snapshot` and the transport throw; it is sent again then.
  public func send(_ snapshot: @escaping @Sendable () async throws -> SyncSnapshot) async throws -> Bool {
    let before = last
    let task = Task {
      _ = await before?.result
      return try await sendNow(snapshot())
    }
    last = task
    return try await task.value
  }

  private func sendNow(_ snapshot: SyncSnapshot) async throws -> Bool {
    let state = try snapshot.encoded
    guard state != sent else { return false }
    let number = forgotten
    switch transport {
    case let mailbox as any MailboxTransport: try await mailbox.publish(state)
    case let exchange as any ExchangeTransport: _ = try await exchange.exchange(state, timeout: timeout)
    default:
      throw StorageError(
        .unsupported, "There is nobody to send values to.", advice: "Give the helper a transport.", backend: "sync")
    }
    if number == forgotten { sent = state }
    return true
  }

  /// Sends the next snapshot again, for example to another watch.
  public func forget() {
    sent = nil
    forgotten += 1
  }
}
