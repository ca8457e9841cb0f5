import CofferLocks
import Foundation

/// The writes of one store that have returned and are not committed yet, in their order.
///
/// They are collected in *groups*, each of which becomes one commit. A batch is in one group. A group that is being
/// committed takes no more writes. After a failed commit its group stays first, so that no later write overtakes it.
final class WriteBuffer: Sendable {
  /// The newest pending value of a key.
  struct Value: Sendable {
    /// `nil` for a removal.
    let encoded: EncodedValue?
    let box: (any AnyBox)?
    /// The number of its write.
    fileprivate let number: UInt64
  }

  struct Group: Sendable {
    var operations: [WriteBatch.Operation] = []
    var written: [(key: StoreKey, box: (any AnyBox)?)] = []
    /// The index of the only operation of each key.
    var index: [StoreKey: Int] = [:]
    let transaction: TransactionID?
    var durability: StoreDurability
    /// The number of its last write.
    var last: UInt64 = 0
    var bytes = 0

    var batch: WriteBatch { WriteBatch(operations, transaction: transaction, durability: durability) }
  }

  struct State: Sendable {
    var groups: [Group] = []
    /// The number of groups, from the first, that the present run commits.
    var sealed = 0
    var values: [StoreKey: Value] = [:]
    var bytes = 0
    /// The number of the last write.
    var last: UInt64 = 0
    /// The number of the last write that was committed or given up.
    var done: UInt64 = 0
    var run: Task<Void, any Error>?
    var failure: StorageError?
    var isScheduled = false
    /// Whether a window has ended during the present run, so that another one follows at once.
    var isDue = false
    var isClosed = false
    /// The writes that were given up: those after `kept`, up to `through`.
    var discards: [(kept: UInt64, through: UInt64)] = []
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
  var hasPendingWrites: Bool { state.withLock { !$0.groups.isEmpty } }

  /// Accepts a batch without preconditions, after a flush if there is no room for it. A batch that is larger than the
  /// limit is flushed before this returns.
  func write(_ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)]) async throws {
    try Task.checkCancellation()
    // What no commit can accept must not block the writes after it.
    try batch.check(capabilities, location: location)
    let size = batch.operations.reduce(0) { $0 + $1.pendingSize }
    while try !add(batch, written, size) { try await flush() }
    if size > policy.maximumPendingBytes { try await flush() }
  }

  /// Adds a batch; returns `false` if there is no room.
  private func add(
    _ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)], _ size: Int
  ) throws -> Bool {
    let (isAdded, isFirst) = try state.withLock { state in
      guard !state.isClosed else { throw closed }
      guard state.bytes == 0 || state.bytes + size <= policy.maximumPendingBytes else { return (false, false) }
      let isAtomic = capabilities.contains(.atomicBatches)
      if let group = state.groups.last, state.groups.count > state.sealed, isAtomic,
        group.transaction == batch.transaction, group.operations.count < Self.groupSize
      {
      } else {
        state.groups.append(Group(transaction: batch.transaction, durability: batch.durability))
      }
      state.last += 1
      state.add(batch, written)
      defer { state.isScheduled = true }
      return (true, !state.isScheduled)
    }
    if isFirst { policy.scheduler.schedule(self, after: policy.window) }
    return isAdded
  }

  private var closed: StorageError {
    StorageError(
      .closed, "The store was closed.", advice: "Nothing was written by this call. Open the store again.",
      location: location)
  }
}

extension WriteBuffer.State {
  /// Adds the operations of a batch to the last group. A later write of a key replaces an earlier one of its group.
  fileprivate mutating func add(_ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)]) {
    let last = groups.count - 1
    for (operation, item) in zip(batch.operations, written) {
      let size = operation.pendingSize
      bytes += size
      groups[last].bytes += size
      if let index = groups[last].index[item.key] {
        let replaced = groups[last].operations[index].pendingSize
        bytes -= replaced
        groups[last].bytes -= replaced
        groups[last].operations[index] = operation
        groups[last].written[index].box = item.box
      } else {
        groups[last].index[item.key] = groups[last].operations.count
        groups[last].operations.append(operation)
        groups[last].written.append(item)
      }
      var encoded: EncodedValue?
      if case .put(_, let data, let attributes) = operation { encoded = EncodedValue(data, attributes) }
      values[item.key] = WriteBuffer.Value(encoded: encoded, box: item.box, number: self.last)
    }
    if batch.durability > groups[last].durability { groups[last].durability = batch.durability }
    groups[last].last = self.last
  }

  /// Removes the first group, which was committed.
  mutating func finishFirst() {
    let group = groups.removeFirst()
    sealed -= 1
    bytes -= group.bytes
    done = groups.isEmpty ? last : group.last
    for key in group.index.keys where values[key].map({ $0.number <= group.last }) ?? false { values[key] = nil }
  }

  /// Removes all groups that no run commits, and returns their keys.
  mutating func discard() -> [StoreKey] {
    let given = groups[sealed...]
    guard !given.isEmpty else { return [] }
    let kept = sealed > 0 ? groups[sealed - 1].last : done
    let keys = Set(given.flatMap(\.index.keys))
    bytes -= given.reduce(0) { $0 + $1.bytes }
    groups.removeSubrange(sealed...)
    for key in keys where values[key].map({ $0.number > kept }) ?? false { values[key] = nil }
    discards.append((kept, last))
    if groups.isEmpty { done = last }
    failure = nil
    return keys.sorted()
  }
}

extension WriteBatch.Operation {
  /// The bytes for which an operation counts while it is pending.
  fileprivate var pendingSize: Int {
    switch self {
    case .put(let key, let value, _): value.count + key.size
    case .delete(let key): key.size
    case .clear, .require, .putRecord, .deleteRecord, .requireRecord: 0
    }
  }
}
