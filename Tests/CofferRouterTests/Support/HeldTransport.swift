import CofferCore
import CofferRouter
import CofferTestSupport
import Foundation

/// A mailbox that records what is published. It can hold every publication until it is released, whether or not the
/// task is cancelled, and can refuse them.
final class HeldTransport: MailboxTransport {
  private struct State {
    var isHeld = false
    var failure: StorageError?
    var begun = 0
    var sent: [Data] = []
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  func publish(_ data: Data) async throws {
    state.withLock { $0.begun += 1 }
    await withCheckedContinuation { continuation in
      let passes = state.withLock { state in
        if state.isHeld { state.waiting.append(continuation) }
        return !state.isHeld
      }
      if passes { continuation.resume() }
    }
    let failure = state.withLock { state in
      if state.failure == nil { state.sent.append(data) }
      return state.failure
    }
    if let failure { throw failure }
  }

  func hold() { state.withLock { $0.isHeld = true } }

  func release() {
    let waiting = state.withLock { state in
      defer { (state.isHeld, state.waiting) = (false, []) }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Refuses publications with an error, or accepts them again.
  func fail(_ failure: StorageError?) { state.withLock { $0.failure = failure } }

  /// The number of publications that have begun.
  var begun: Int { state.withLock { $0.begun } }
  /// All published states.
  var sent: [Data] { state.withLock { $0.sent } }

  /// The latest published state.
  func latest() throws -> SyncSnapshot { try sent.last.map { try SyncSnapshot(decoding: $0) } ?? SyncSnapshot() }
}

extension SyncSnapshot {
  /// The values as text.
  var texts: [String: String] {
    values.reduce(into: [:]) { $0[$1.key.string] = String(decoding: $1.value.data, as: UTF8.self) }
  }
}
