import CofferLocks
import Foundation

/// The writes of one store that have returned and are not committed yet, in their order.
///
/// They are collected in *groups*, each of which becomes one commit. A batch is in one group. A group that is being
/// committed takes no more writes. After a failed commit its group stays first, so that no later write overtakes it,
/// unless the store has refused its content: then only the refused batches wait, with all that have keys in common.
final class WriteBuffer: Sendable {
  /// The newest pending value of a key.
  struct Value: Sendable {
    /// `nil` for a removal.
    let encoded: EncodedValue?
    let box: (any AnyBox)?
    /// The number of its write.
    let number: UInt64
  }

  /// The maximum number of keys in one commit, unless one batch has more.
  private static let groupSize = 1_000

  let engine: any StorageEngine
  let cache: DecodedCache?
  let origin: StoreOrigin
  let policy: WriteBackPolicy
  let location: String
  private let capabilities: StoreCapabilities
  let state = Locked(State())

  init?(engine: any StorageEngine, cache: DecodedCache?, origin: StoreOrigin, policy: WritePolicy) {
    guard case .back(let policy) = policy else { return nil }
    self.engine = engine
    self.cache = cache
    self.origin = origin
    self.policy = policy
    location = engine.description
    capabilities = engine.capabilities
  }

  /// Returns the newest pending value of a key; `nil` if there is none.
  func value(of key: StoreKey) -> Value? {
    state.withLock { state in
      state.values.isEmpty ? nil : state.values[key]
    }.map(present)
  }

  /// Returns the newest pending values of several keys, all of one moment.
  func values(of keys: [StoreKey]) -> [Value?] {
    state.withLock { state in keys.map { state.values[$0] } }.map { $0.map(present) }
  }

  /// Returns a value, or a removal in the place of one that has expired.
  private func present(_ value: Value) -> Value {
    guard let encoded = value.encoded, encoded.attributes.isExpired(at: engine.clock.now()) else { return value }
    return Value(encoded: nil, box: nil, number: value.number)
  }

  var pendingWrites: PendingWrites {
    state.withLock { PendingWrites(count: $0.values.count, bytes: $0.bytes, failure: $0.failure) }
  }

  /// Whether there are writes that are not committed.
  var hasPendingWrites: Bool { state.withLock { !$0.isEmpty } }

  private enum Acceptance { case pending, afterFlush, refused }

  /// Accepts a batch without preconditions, after a flush if there is no room for it.
  /// - Returns: `false` if the caller has to commit it: it is larger than the limit, or refused values take the room.
  func write(_ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)]) async throws -> Bool {
    try Task.checkCancellation()
    // What no commit can accept must not block the writes after it.
    try batch.check(capabilities, location: location)
    let size = batch.pendingSize
    while true {
      switch try add(batch, written, size) {
      case .pending: return true
      case .refused: return false
      case .afterFlush: try await flush([])
      }
    }
  }

  private func add(
    _ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)], _ size: Int
  ) throws -> Acceptance {
    let (result, isFirst) = try state.withLock { state -> (Acceptance, Bool) in
      guard !state.isClosed else { throw closed }
      let result = acceptance(of: batch, written, size, in: state)
      guard result == .pending else { return (result, false) }
      state.add(batch, written, limit: capabilities.contains(.atomicBatches) ? Self.groupSize : 0)
      defer { state.isScheduled = true }
      return (.pending, !state.isScheduled)
    }
    if isFirst { policy.scheduler.schedule(self, after: policy.window) }
    return result
  }

  private func acceptance(
    of batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)], _ size: Int, in state: borrowing State
  ) -> Acceptance {
    let limit = policy.maximumPendingBytes
    // A smaller value or a removal may be what the store accepts.
    if let growth = state.held.growth(by: batch, written) {
      return growth <= 0 || state.refused + growth <= limit ? .pending : .refused
    }
    guard size <= limit, state.refused <= limit else { return .refused }
    return state.used == 0 || state.used + size <= limit ? .pending : .afterFlush
  }

  private var closed: StorageError {
    StorageError(
      .closed, "The store was closed.", advice: "Nothing was written by this call. Open the store again.",
      location: location)
  }
}
