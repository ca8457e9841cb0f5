import CofferCore

/// What the users of a connection and the thread of its loop share.
final class ConnectionStatus: Sendable {
  typealias NotificationHandler = @Sendable (_ channel: String, _ payload: String) -> Void
  typealias LossHandler = @Sendable (ConnectionLoss) -> Void

  private struct State {
    /// Why no further exchange is accepted; those under way may still end.
    var loss: ConnectionLoss?
    var pending = 0
    var notified: NotificationHandler?
    var lost: LossHandler?
    var hasLargeBuffers = false
  }

  private let state = Locked(State())

  var isUsable: Bool { state.withLock { $0.loss == nil } }
  var loss: ConnectionLoss? { state.withLock { $0.loss } }
  /// The number of exchanges under way.
  var pending: Int { state.withLock { $0.pending } }
  var hasLargeBuffers: Bool { state.withLock { $0.hasLargeBuffers } }

  /// Counts an exchange, unless the connection is lost or accepts none.
  func begin() -> ConnectionLoss? {
    state.withLock { state in
      if let loss = state.loss { return loss }
      state.pending += 1
      return nil
    }
  }

  /// Lets the connection accept no further exchanges: it is about to be closed.
  func refuse(_ loss: ConnectionLoss) { state.withLock { $0.loss = loss } }

  func finish() { state.withLock { $0.pending -= 1 } }

  func noteLargeBuffers() { state.withLock { $0.hasLargeBuffers = true } }

  func onNotification(_ body: @escaping NotificationHandler) {
    state.withLock { if $0.loss == nil { $0.notified = body } }
  }

  func onLoss(_ body: @escaping LossHandler) {
    let loss = state.withLock { state in
      if state.loss == nil { state.lost = body }
      return state.loss
    }
    if let loss { body(loss) }
  }

  func notify(_ channel: String, _ payload: String) { state.withLock { $0.notified }?(channel, payload) }

  /// Notes the end of the connection. Returns the handler to call.
  func lose(_ loss: ConnectionLoss) -> LossHandler? {
    state.withLock { state in
      state.loss = loss
      defer { (state.lost, state.notified) = (nil, nil) }
      return state.lost
    }
  }
}
