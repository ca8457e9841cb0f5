import CofferCore
import CofferEncryption
import CofferSQLite

/// The writes of one store that have returned and are not committed yet: the newest of each key.
///
/// All of them become one commit. What a commit takes is set aside until it ends; if it fails, those of its writes that
/// no newer ones have replaced are pending again.
package final class WriteBuffer: Sendable {
  /// The newest pending write of a key.
  struct Write: Sendable {
    /// `nil` for a removal.
    var encoded: EncodedValue?
    var box: (any AnyBox)?
    /// The position among all writes, by which those of a commit are ordered.
    let number: UInt64
    /// The size of the key and the value, in bytes.
    let size: Int
  }

  private typealias Item = (key: KeyName, encoded: EncodedValue?, box: (any AnyBox)?)

  private struct State {
    var writes: [KeyName: Write] = [:]
    /// The writes that the commit under way has taken.
    var taken: [KeyName: Write] = [:]
    var size = 0
    var takenSize = 0
    /// The strongest durability that one of `writes` has asked for.
    var durability = StoreDurability.relaxed
    /// The number of the last write.
    var last: UInt64 = 0
    /// The number of the last write that a commit has taken.
    var lastTaken: UInt64 = 0
    /// The number of the last write before which each was committed or discarded.
    var done: UInt64 = 0
    /// The numbers of the writes that were discarded.
    var discarded: [ClosedRange<UInt64>] = []
    var run: Task<Void, any Error>?
    var failure: StorageError?
    /// The task that waits for the end of the window.
    var waiting: Task<Void, Never>?
    var isClosed = false
    /// Where the writes survive a killed process until they are committed, if the store has such a log; created with
    /// the first write.
    var log: WriteLog?
    var isLogCreated = false
    /// Whether the log has all of the pending writes.
    var isLogged = true

    func write(of key: KeyName) -> Write? { writes[key] ?? taken[key] }

    mutating func add(_ item: Item) {
      last += 1
      let write = Write(encoded: item.encoded, box: item.box, number: last, size: WriteBuffer.size(of: item))
      size += write.size - (writes.updateValue(write, forKey: item.key)?.size ?? 0)
    }

    mutating func discard() -> [KeyName] {
      guard !writes.isEmpty else { return [] }
      defer {
        discarded.append(done + 1...last)
        (writes, size, failure, isLogged) = ([:], 0, nil, true)
        // The number of no write, so that a later flush has nothing to do with those that were discarded.
        last += 1
        done = last
      }
      return writes.keys.sorted()
    }
  }

  private let engine: any StorageEngine
  /// Encrypts the values of some keys, which the log does not take.
  private let encryption: SelectiveEncryption?
  private let cache: DecodedCache?
  private let origin: StoreOrigin
  private let window: Duration
  private let maximumPendingBytes: Int
  private let clock: any Clock<Duration>
  private let location: String
  private let capabilities: StoreCapabilities
  private let state = Locked(State())

  init?(engine: any StorageEngine, cache: DecodedCache?, origin: StoreOrigin, policy: WritePolicy) {
    guard case .back(let window, let maximumPendingBytes, let clock) = policy else { return nil }
    self.engine = engine
    encryption = engine as? SelectiveEncryption
    self.cache = cache
    self.origin = origin
    (self.window, self.maximumPendingBytes, self.clock) = (window, maximumPendingBytes, clock)
    location = engine.description
    capabilities = engine.capabilities
  }

  // MARK: Reading

  /// Returns the newest pending write of a key; `nil` if there is none.
  func value(of key: KeyName) -> Write? { state.withLock(passing: key) { $0.write(of: $1) }.map(present) }

  /// Returns the newest pending writes of several keys, all of one moment.
  func values(of keys: [KeyName]) -> [Write?] {
    state.withLock { state in keys.map { state.write(of: $0) } }.map { $0.map(present) }
  }

  /// Returns a write, or a removal in the place of a value that has expired.
  private func present(_ write: Write) -> Write {
    guard let encoded = write.encoded, encoded.attributes.isExpired(at: engine.clock.now()) else { return write }
    var removal = write
    (removal.encoded, removal.box) = (nil, nil)
    return removal
  }

  var pendingWrites: TypedStore.PendingWrites {
    state.withLock { state in
      let count = state.writes.count + state.taken.keys.count(where: { state.writes[$0] == nil })
      return TypedStore.PendingWrites(
        count: count, bytes: state.size + state.takenSize, failure: state.failure,
        isLogged: state.log != nil && state.isLogged)
    }
  }

  /// Whether there are writes that are not committed.
  var hasPendingWrites: Bool { state.withLock { !$0.writes.isEmpty || !$0.taken.isEmpty } }

  // MARK: Writing

  /// Accepts a value without attributes, as `write` does with a batch.
  /// - Returns: `false` if there is no room for it, or the engine may refuse it.
  func put(
    _ key: KeyName, _ encoded: EncodedValue, _ box: any AnyBox, _ durability: StoreDurability
  ) throws -> Bool {
    guard encoded.attributes.isEmpty, encoded.data.count <= capabilities.maximumValueSize else { return false }
    try Task.checkCancellation()
    return try add(CollectionOfOne<Item>((key, encoded, box)), key.size + encoded.data.count, durability)
  }

  /// Accepts a batch without preconditions, after a flush if there is no room for it.
  /// - Returns: `false` if the caller has to commit it, because it is larger than the limit.
  func write(_ batch: WriteBatch, _ written: [(key: KeyName, box: (any AnyBox)?)]) async throws -> Bool {
    try Task.checkCancellation()
    // What no commit can accept must not keep back the other writes.
    try batch.check(capabilities, location: location)
    let items = zip(batch.operations, written).map { operation, written -> Item in
      guard case .put(_, let data, let attributes) = operation else { return (written.key, nil, nil) }
      return (written.key, EncodedValue(data, attributes), written.box)
    }
    let size = items.reduce(0) { $0 + Self.size(of: $1) }
    guard size <= maximumPendingBytes else { return false }
    while try !add(items, size, batch.durability) {
      try await flush()
      guard state.withLock({ $0.log })?.hasRoom(for: items.map(Self.logged)) ?? true else { return false }
    }
    return true
  }

  private func log(_ state: inout State) -> WriteLog? {
    guard !state.isLogCreated else { return state.log }
    state.isLogCreated = true
    // A record has a header of its own, and writes that later ones replace take room, too.
    let room = min(max(0, maximumPendingBytes), 128 << 20) / 4 * 5 + 65_536
    state.log = try? ((encryption?.plain ?? engine) as? SQLiteEngine)?.writeLog(room)
    return state.log
  }

  private static func logged(_ item: Item) -> WriteLog.Item {
    (item.key, item.encoded?.data, item.encoded?.attributes ?? .none)
  }

  private static func size(of item: Item) -> Int { item.key.size + (item.encoded?.data.count ?? 0) }

  /// Adds writes if there is room for their size in bytes, besides what they replace.
  private func add(_ items: some Collection<Item>, _ size: Int, _ durability: StoreDurability) throws -> Bool {
    try state.withLock { state in
      guard !state.isClosed else {
        throw StorageError(
          .closed, "The store was closed.", advice: "Nothing was written by this call. Open the store again.",
          location: location)
      }
      let room = maximumPendingBytes - state.size - state.takenSize
      if size > room {
        let replaced = Set(items.map(\.key)).reduce(0) { $0 + (state.writes[$1]?.size ?? 0) }
        guard size <= room + replaced else { return false }
      }
      if let log = log(&state), !items.contains(where: { encryption?.isEncrypted($0.key) ?? false }) {
        let isLogged =
          if items.count == 1, let item = items.first {
            log.append(Self.logged(item), at: engine.latestRevision)
          } else {
            log.append(items.map(Self.logged), at: engine.latestRevision)
          }
        guard isLogged else { return false }
      } else {
        state.isLogged = false
      }
      for item in items { state.add(item) }
      state.durability = max(state.durability, durability)
      waitForWindow(&state)
      return true
    }
  }

  /// Commits what is pending at the end of the window, or a second after a failure if that is later. The task retains
  /// the writes of a store that is no longer used.
  private func waitForWindow(_ state: inout State) {
    guard state.waiting == nil, state.run == nil, !state.writes.isEmpty, state.failure?.code != .closed else { return }
    let pause = state.failure == nil ? window : max(window, .seconds(1))
    state.waiting = Task.detached { [self] in
      try? await clock.sleep(for: pause)
      self.state.withLock { state in
        guard !Task.isCancelled else { return }
        state.waiting = nil
        if !state.writes.isEmpty { _ = begin(&state) }
      }
    }
  }

  // MARK: Committing

  /// Commits every write that was accepted before this call. Cancelling the task does not end the commit.
  /// - Parameter keys: the keys that the caller depends on; `nil` for all. If the store refuses what is pending for its
  ///   content, and none of these keys is pending, that is no error of the caller.
  /// - Throws: the error of the commit, which names the keys of its writes; they are still pending.
  package func flush(_ keys: [KeyName]? = nil) async throws {
    let target = state.withLock { $0.last }
    while let (run, isIncluded) = try state.withLock({ state -> (Task<Void, any Error>, Bool)? in
      if state.discarded.contains(where: { $0.contains(target) }) { throw discarded }
      guard state.done < target else { return nil }
      return (begin(&state), state.lastTaken >= target)
    }) {
      do { try await run.value } catch {
        // The writes came after this commit had begun: the next one takes them.
        guard isIncluded else { continue }
        let isPending = keys?.contains { key in state.withLock { $0.write(of: key) != nil } } ?? true
        guard isPending || !StoredError.storage(error).isAboutContent else { return }
        throw error
      }
    }
  }

  private var discarded: StorageError {
    StorageError(
      .unfinished, "Pending writes were discarded while they were flushed.",
      advice: "Those that were committed before stay; save the others again if they are needed.", location: location)
  }

  /// Returns the commit that is under way, or begins one of everything that is pending.
  private func begin(_ state: inout State) -> Task<Void, any Error> {
    if let run = state.run { return run }
    let (writes, durability) = (state.writes, state.durability)
    (state.taken, state.takenSize, state.lastTaken) = (writes, state.size, state.last)
    (state.writes, state.size, state.durability) = ([:], 0, .relaxed)
    let logged = state.log.map { (log: $0, end: $0.end) }
    let run = Task.detached { [self] in try await commit(writes, durability, logged) }
    state.run = run
    return run
  }

  /// - Parameter logged: where these writes end in the log.
  private func commit(
    _ writes: [KeyName: Write], _ durability: StoreDurability, _ logged: (log: WriteLog, end: WriteLog.Mark)?
  ) async throws {
    var rest = writes.sorted { $0.value.number < $1.value.number }[...]
    do {
      while !rest.isEmpty {
        let group = capabilities.contains(.atomicBatches) ? rest : rest.prefix(1)
        let operations = group.map { key, write -> WriteBatch.Operation in
          write.encoded.map { .put(key, $0.data, $0.attributes) } ?? .delete(key)
        }
        let transaction = logged.map { $0.log.transaction($0.end) }
        let batch = WriteBatch(operations, transaction: transaction, durability: durability)
        let commit = try await engine.commit(batch, from: origin)
        // First into the cache, so that a read in between finds the value in either.
        cache?.committed(commit, group.map { ($0.key, $0.value.box) }, expiries: batch.expiries)
        rest.removeFirst(group.count)
      }
      if let logged { logged.log.release(upTo: logged.end) }
      end(rest, durability, nil)
    } catch {
      let failure = StoredError.storage(error).naming(rest.map(\.key))
      end(rest, durability, failure)
      throw failure
    }
  }

  /// Ends a commit. What it has not committed is pending again, unless it was replaced meanwhile.
  private func end(
    _ rest: ArraySlice<(key: KeyName, value: Write)>, _ durability: StoreDurability, _ failure: StorageError?
  ) {
    state.withLock { state in
      for (key, write) in rest where state.writes[key] == nil {
        state.writes[key] = write
        state.size += write.size
      }
      (state.taken, state.takenSize, state.run, state.failure) = ([:], 0, nil, failure)
      if state.writes.isEmpty { state.isLogged = true }
      if failure == nil { state.done = state.lastTaken } else { state.durability = max(state.durability, durability) }
      // A store whose engine is closed stays so, and keeps its writes until they are discarded.
      if failure?.code == .closed { state.isClosed = true }
      waitForWindow(&state)
    }
  }

  /// Discards the pending writes, after a commit that is under way. Returns their keys.
  func discard() async -> [KeyName] {
    while true {
      let (run, keys) = state.withLock { state -> (Task<Void, any Error>?, [KeyName]) in
        if let run = state.run { return (run, []) }
        if let log = state.log { log.release(upTo: log.end) }
        return (nil, state.discard())
      }
      guard let run else { return keys }
      _ = await run.result
    }
  }

  /// Accepts no further write, and flushes. If that fails, writes are accepted again.
  package func close() async throws {
    state.withLock { $0.isClosed = true }
    do {
      try await flush()
    } catch {
      state.withLock { $0.isClosed = $0.failure?.code == .closed }
      throw error
    }
    state.withLock { state in
      state.isClosed = true
      state.log?.close()
    }
  }
}

extension StorageError {
  /// Returns the error of a commit with the keys of its writes, which stay pending.
  fileprivate func naming(_ keys: [KeyName]) -> StorageError {
    let names = keys.prefix(8).map { "'\($0.string.escapingControlCharacters)'" }.joined(separator: ", ")
    let rest = keys.count > 8 ? " and \(keys.count - 8) more" : ""
    let hint = "Replace or remove the value that the store refuses, or discard the pending writes."
    var error = StorageError(
      code, "\(message) These writes stay pending: \(names)\(rest).",
      advice: isAboutContent ? advice.isEmpty ? hint : "\(advice) \(hint)" : advice, location: location, key: key,
      underlying: underlying)
    error.isAboutQuestion = isAboutQuestion
    error.foreignData = foreignData
    return error
  }
}
