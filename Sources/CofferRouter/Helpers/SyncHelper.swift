import Foundation

/// An actor that sends snapshots to another device, and skips a snapshot that equals the last one sent.
public actor SyncHelper {
  private let transport: (any SyncTransport)?
  private let timeout: Duration
  private var sent: Data?
  private var forgotten = 0
  private var last: Task<Bool, any Error>?

  /// Creates a helper.
  /// - Parameters:
  ///   - transport: the transport to the other device; without one nothing can be sent.
  ///   - timeout: the maximum time to wait for a reply of an ``ExchangeTransport``; 10 seconds by default.
  public init(transport: (any SyncTransport)?, timeout: Duration = .seconds(10)) {
    self.transport = transport
    self.timeout = timeout
  }

  /// Whether there is a transport.
  public var isAvailable: Bool { transport != nil }

  /// Whether a snapshot was sent.
  var hasSent: Bool { sent != nil }

  /// Sends a snapshot, unless it is `nil` or equals the last one sent. Calls are serialized, and `snapshot` is
  /// evaluated when its call is next: an older snapshot never replaces a newer one. Cancelling the calling task cancels
  /// the call of the transport.
  /// - Returns: Whether it was sent.
  /// - Throws: `unsupported` without a transport, and any error of `snapshot` and of the transport; the next call then
  ///   sends the snapshot again.
  public func send(_ snapshot: @escaping @Sendable () async throws -> SyncSnapshot?) async throws -> Bool {
    let before = last
    let task = Task {
      _ = await before?.result
      try Task.checkCancellation()
      guard let snapshot = try await snapshot() else { return false }
      return try await sendNow(snapshot)
    }
    last = task
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
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
        .unsupported, "No transport is configured.", advice: "Create the helper with a transport.", location: "sync")
    }
    if number == forgotten { sent = state }
    return true
  }

  /// Discards the last snapshot, so that the next one is sent even if it is equal, for example when it is sent to
  /// another watch.
  public func forget() {
    sent = nil
    forgotten += 1
  }
}
