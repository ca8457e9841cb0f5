import CofferCPostgreSQL
import CofferCore

/// A connection to a server.
///
/// Any number of tasks may use it at once: their exchanges are sent one behind the other without waiting for answers,
/// and the failure of one has no effect on the others. Transactions that take several exchanges need a connection that
/// nothing else uses meanwhile.
final class ServerConnection: Sendable {
  let instance: ServerInstance
  let serverVersion: Int
  let processID: Int32
  /// Whether transactions only read unless they ask for more, by a setting of the role or the database.
  let isReadOnly: Bool
  private let channel: ConnectionChannel
  private let status: ConnectionStatus

  init(_ channel: ConnectionChannel, instance: ServerInstance, isReadOnly: Bool) {
    (self.channel, self.instance, self.isReadOnly) = (channel, instance, isReadOnly)
    status = channel.status
    serverVersion = channel.serverVersion
    processID = channel.announcedProcess
  }

  deinit {
    // Otherwise the loop would keep the connection open for ever.
    channel.loop.perform { [channel] _ in channel.close() }
  }

  var isUsable: Bool { status.isUsable }
  /// Why the connection has ended; `nil` while it is usable.
  var loss: ConnectionLoss? { status.loss }
  /// The number of exchanges under way.
  var pending: Int { status.pending }
  /// Whether an exchange was so large that the connection keeps megabytes of memory until it is closed.
  var hasLargeBuffers: Bool { status.hasLargeBuffers }

  /// Sends calls together, ended by one Sync, and returns their outcomes.
  ///
  /// Without `BEGIN` among them, they are one implicit transaction. After one that fails the others are skipped. The
  /// cancellation of the task has no effect: that of a commit which waits for standbys would end it with success.
  /// - Parameter within: the time for the answer. When it has passed, the connection is abandoned.
  /// - Throws: `ConnectionLoss` when the connection is lost.
  func run(_ calls: [ServerCall], within: Duration) async throws(ConnectionLoss) -> ExchangeResult {
    let result = await withCheckedContinuation { continuation in
      channel.submit(calls, within: within, mayOvertake: true) { continuation.resume(returning: $0) }
    }
    #if COFFER_TSAN
      channel.synchronize()
    #endif
    return try result.get()
  }

  /// Closes the connection at once. What is under way is lost, and may still be executed by the server.
  func abandon() { channel.lose(.abandoned, "The connection was abandoned.") }

  /// Ends the session and closes the connection.
  func close() async {
    await withCheckedContinuation { continuation in
      let isHandedOver = channel.loop.perform { [channel] _ in
        channel.close()
        continuation.resume()
      }
      if !isHandedOver { continuation.resume() }
    }
  }

  /// Calls `body` for each notification, on the thread that has received it. It must not block.
  func onNotification(_ body: @escaping @Sendable (_ channel: String, _ payload: String) -> Void) {
    status.onNotification(body)
    channel.listen()
  }

  /// Calls `body` once when the connection has ended for any reason, also when the server closes an idle one; at once
  /// if it has already. It is called on the thread of the loop and must not block.
  func onLoss(_ body: @escaping @Sendable (ConnectionLoss) -> Void) { status.onLoss(body) }
}

extension ConnectionChannel {
  /// Sends calls as ``ServerConnection/run(_:within:)`` and calls `completion` with their outcomes once, on the thread
  /// of the loop or that of the caller. It must not block.
  /// - Parameters:
  ///   - calls: the calls, which are sent together.
  ///   - within: the time for the answer.
  ///   - mayOvertake: whether the calls may be sent at once, before others that wait for the thread of the loop. This
  ///     saves its wake-up, which takes as long as a short statement.
  ///   - completion: receives the outcomes.
  func submit(
    _ calls: [ServerCall], within: Duration, mayOvertake: Bool = false,
    completion: @escaping @Sendable (Result<ExchangeResult, ConnectionLoss>) -> Void
  ) {
    if let loss = status.begin() {
      completion(.failure(loss))
      return
    }
    let exchange = PendingExchange(calls, deadline: .now + within, completion: completion)
    loop.beginExchange()
    if mayOvertake, sendNow(exchange) { return }
    guard loop.perform({ [self] _ in send(exchange) }) else {
      status.finish()
      loop.endExchange()
      exchange.fail(ConnectionLoss(.abandoned, "The system has no thread or descriptor left.", mayHaveRun: false))
      return exchange.complete()
    }
  }
}
