import CofferCore
import Foundation

/// Compares one open store with its anchor: when it is opened, and before each update of the anchor.
///
/// The order is always the same, so that no crash and no other process makes a store look older than it is: the record
/// in the store is durable before the anchor has its number, and the anchor is read before the store.
final class RollbackGuard: Sendable {
  private struct State {
    /// The newest known generation of the key ring.
    var generation: UInt64
    /// The largest number that the record in the store is known to have had.
    var number: UInt64 = 0
    /// Whether something was committed that the anchor does not cover.
    var isDirty = false
    var isClosed = false
    var timer: Task<Void, Never>?
    var writing: Task<Void, any Error>?
  }

  /// The maximum number of attempts of a commit when other processes commit the record first.
  private static let attempts = 64
  /// The shortest time after which a failed update is repeated.
  private static let shortestPause = Duration.seconds(1)

  private let base: any StorageEngine
  private let protection: RollbackProtection
  private let keys: RollbackKeys
  private let origin = StoreOrigin()
  private let state: Locked<State>
  private var location: String { base.description }
  private var anchor: String { protection.anchor.description }

  init(_ protection: RollbackProtection, _ ring: KeyRing, over base: any StorageEngine) throws {
    self.protection = protection
    self.base = base
    keys = try RollbackKeys(ring)
    state = Locked(State(generation: ring.generation))
  }

  deinit { state.withLock { $0.timer }?.cancel() }

  // MARK: Opening

  /// Compares the store with its anchor, which receives the store if neither has a record yet.
  /// - Parameters:
  ///   - bytes: the record of the anchor, as it was read before the key ring.
  ///   - open: the key ring.
  func check(_ bytes: Data?, _ open: OpenKeyRing, in store: KeyRingStore) async throws {
    do { try await check(bytes, open.ring) } catch let error as StorageError {
      guard error.code == .rolledBack || error.code == .notFound else { throw error }
      // Another process may have begun with the anchor or changed everything since the anchor was read.
      let bytes = try await protection.record(for: location)
      do { try await check(bytes, try await store.reload(open).ring) } catch let error as StorageError {
        if error.code == .rolledBack, let anchored = bytes.flatMap({ try? AnchorRecord($0) }) {
          base.tellRollback(from: anchored)
        }
        throw error
      }
    }
  }

  private func check(_ bytes: Data?, _ ring: KeyRing) async throws {
    let stored = try await record()
    guard let bytes else {
      guard stored == nil else { throw StorageError.anchorIsGone(anchor, location: location) }
      return try await begin()
    }
    let anchored = try decode(bytes)
    try compare(stored, ring.generation, with: anchored, known: 0)
    // What was committed by a process that ended before it could update the anchor.
    if base.latestRevision != anchored.revision || stored == nil { noteCommit(ring.generation) }
  }

  /// Anchors a store for the first time.
  ///
  /// The anchor comes first: a store with a record and without an anchor has lost it.
  private func begin() async throws {
    guard !base.isReadOnly else { return }
    let first = try record(0, base.latestRevision, generation: 0)
    try await protection.update(for: location) { [self] present in
      guard let present else { return first }
      _ = try decode(present)  // Another process was first.
      return nil
    }
    noteCommit(known.generation)
    try await anchor(nil)
  }

  // MARK: Committing

  /// Notes that something was committed, which the anchor covers after the interval.
  func noteCommit(_ generation: UInt64) {
    state.withLock { state in
      state.generation = max(state.generation, generation)
      state.isDirty = true
      startTimer(&state, protection.interval)
    }
  }

  private func startTimer(_ state: inout State, _ interval: Duration) {
    guard state.timer == nil, !state.isClosed, !base.isReadOnly else { return }
    state.timer = Task { [weak self] in
      try? await Task.sleep(for: interval)
      if !Task.isCancelled { await self?.timerFired() }
    }
  }

  private func timerFired() async {
    state.withLock { $0.timer = nil }
    let start = ContinuousClock.now
    do { try await anchor(nil) } catch {
      guard !state.withLock({ $0.isClosed }) else { return }
      let code = (error as? StorageError)?.code
      base.events?.emitLater(location, .failed(.init(.anchoring, code: code, duration: .now - start)))
    }
  }

  /// Makes the anchor cover everything that was committed before this call.
  /// - Parameter generation: the generation of the key ring, if it is known.
  func anchor(_ generation: UInt64?) async throws {
    let writing: Task<Void, any Error>? = state.withLock { state in
      if let generation, generation > state.generation { (state.generation, state.isDirty) = (generation, true) }
      guard !state.isClosed, !base.isReadOnly else { return nil }
      guard state.isDirty else { return state.writing }
      state.isDirty = false
      let earlier = state.writing
      let next = Task {
        _ = await earlier?.result
        do { try await update() } catch {
          self.state.withLock { state in
            state.isDirty = true
            // No commit may follow that would try again.
            self.startTimer(&state, max(self.protection.interval, Self.shortestPause))
          }
          throw error
        }
      }
      state.writing = next
      return next
    }
    try await writing?.value
  }

  /// Makes the anchor cover everything, and ends the updates.
  func close(_ generation: UInt64) async throws {
    defer {
      let timer = state.withLock { state in
        state.isClosed = true
        return state.timer
      }
      timer?.cancel()
    }
    try await anchor(generation)
  }

  // MARK: Updating

  /// Takes the store as it is, whatever the anchor says.
  /// - Throws: `newerFormat` for an anchor of a later version; `notFound` if the key ring is gone; `unavailable`;
  ///   `busy`.
  func accept() async throws { try await update(accepting: true) }

  /// Gives the store the next number, and then its anchor.
  ///
  /// The store is compared as when it is opened: an older copy that was put back meanwhile would receive the numbers
  /// after its own, and those that the anchor knows in the end.
  /// - Parameter accepting: whether the store is taken as it is; damaged records and those of others are replaced.
  /// - Throws: `rolledBack` and, for an anchor that was removed, `notFound`, both before anything is written;
  ///   `notFound` also if the key ring is gone.
  private func update(accepting: Bool = false) async throws {
    // Read before the commit: whatever was committed before it is durable afterwards.
    let generation = known.generation
    for _ in 0..<Self.attempts {
      // In the order of an opening, as other processes may advance all of them: the anchor before the store.
      let bytes = try await protection.record(for: location)
      let number = known.number
      let (stored, ring) = try await present(accepting)
      let anchored: AnchorRecord?
      if accepting {
        anchored = try replaceable(bytes)
      } else {
        guard let bytes else { throw StorageError.anchorIsGone(anchor, location: location) }
        let own = try decode(bytes)
        do { try compare(stored, ring.generation, with: own, known: number) } catch {
          base.tellRollback(from: own)
          throw error
        }
        anchored = own
      }
      let sequence = max(stored?.number ?? 0, anchored?.sequence ?? 0).successor
      guard let commit = try await write(sequence, ring.operations) else { continue }
      let next = try record(sequence, commit.revision, generation: generation)
      let isOutdated = Locked(false)
      try await protection.update(for: location) { [self] present in
        if accepting {
          // What another process has anchored since is compared first.
          guard present == bytes else {
            isOutdated.withLock { $0 = true }
            return nil
          }
          return next
        }
        // What an anchor knew that was removed meanwhile is not known.
        guard let present else { throw StorageError.anchorIsGone(anchor, location: location) }
        let own = try decode(present)
        if own.sequence >= sequence, own.generation >= generation { return nil }
        return try record(
          max(own.sequence, sequence), max(own.revision, commit.revision), generation: max(own.generation, generation))
      }
      if isOutdated.withLock({ $0 }) { continue }
      return
    }
    throw StorageError(
      .busy, "Other processes keep writing the record of the store's rollback protection.", advice: "Try again.",
      location: location)
  }

  private typealias Stored = (number: UInt64, revision: StoreRevision)

  /// The key ring of this store as its records state it in plain.
  private struct PresentRing {
    /// The preconditions that the store still has this ring, and the record as it was read.
    var operations: [WriteBatch.Operation]
    let generation: UInt64
  }

  /// Reads the record in the store, and then the key ring, without which the record means nothing.
  private func present(_ accepting: Bool) async throws -> (Stored?, PresentRing) {
    do {
      let stored = try await record()
      var ring = try await presentRing()
      ring.operations.append(.requireRecord(.rollback, stored?.revision))
      return (stored, ring)
    } catch let error as StorageError where error.code == .damaged {
      // The record may be that of another ring by now.
      let ring = try await presentRing()
      guard accepting else { throw error }
      return (nil, ring)
    }
  }

  /// Returns the key ring of this store. One record of another store may have been planted beside it.
  /// - Throws: `notFound` if another process has decrypted the store, so that a record would be that of no ring or of a
  ///   later one; `damaged`.
  private func presentRing() async throws -> PresentRing {
    guard let stored = try await StoredKeyRing.load(from: base),
      let own = stored.candidates.first(where: { $0.header.storeID == keys.storeID })
    else { throw StorageError.ringIsGone(location: location) }
    return PresentRing(operations: stored.revisions.operations, generation: own.header.generation)
  }

  /// Writes the record, so that it and everything before it is durable. Returns `nil` if a precondition failed.
  private func write(_ number: UInt64, _ operations: [WriteBatch.Operation]) async throws -> StoreCommit? {
    let put = WriteBatch.Operation.putRecord(.rollback, try keys.record(of: number))
    do {
      let commit = try await base.commit(WriteBatch(operations + [put], durability: .full), from: origin)
      note(number)
      return commit
    } catch let error as StorageError where error.code == .preconditionFailed {
      return nil
    }
  }

  // MARK: Records

  private func record() async throws -> Stored? {
    do {
      guard let record = try await base.record(.rollback) else { return nil }
      return (try keys.number(in: record.content), record.revision)
    } catch let error as StorageError {
      throw error.unconfirmed(anchor, location: location)
    }
  }

  private func record(_ sequence: UInt64, _ revision: StoreRevision, generation: UInt64) throws -> Data {
    try AnchorRecord(
      storeID: keys.storeID, sequence: sequence, generation: generation, revision: revision, date: base.clock.now()
    ).encoded(under: keys.anchor)
  }

  /// Decodes the record of the anchor.
  /// - Throws: `rolledBack` for that of another store; `damaged`, `newerFormat`.
  private func decode(_ bytes: Data) throws -> AnchorRecord {
    do {
      let record = try AnchorRecord(bytes)
      guard record.storeID == keys.storeID else {
        throw StorageError.rolledBack(
          "The anchor (\(anchor)) knows another store, at \(record.inWords): this one has another identity.",
          location: location)
      }
      guard try AnchorRecord.isAuthentic(bytes, under: keys.anchor) else {
        throw StorageError(.damaged, "The anchor of the store was changed by somebody without its key.")
      }
      return record
    } catch let error as StorageError {
      throw error.unconfirmed(anchor, location: location)
    }
  }

  /// Decodes a record that accepting replaces; `nil` for one that is missing, damaged or another store's.
  /// - Throws: `newerFormat`.
  private func replaceable(_ bytes: Data?) throws -> AnchorRecord? {
    do { return try bytes.map(decode) } catch let error as StorageError where error.code != .newerFormat { return nil }
  }

  /// Refuses a store that is older than its anchor, or than this process knows it.
  /// - Parameters:
  ///   - stored: the record in the store; read after both of the following.
  ///   - generation: the generation of the key ring.
  ///   - anchored: the record of the anchor.
  ///   - known: the largest number that was known.
  private func compare(
    _ stored: Stored?, _ generation: UInt64, with anchored: AnchorRecord, known: UInt64
  ) throws {
    let number = stored?.number ?? 0
    guard number >= max(anchored.sequence, known), generation >= anchored.generation else {
      throw StorageError.rolledBack(
        "The store is an older copy of itself: it has number \(number), key ring \(generation) and revision "
          + "\(base.latestRevision), after number \(max(anchored.sequence, known)) and ring \(anchored.generation); "
          + "the anchor (\(anchor)) knows \(anchored.inWords).", location: location)
    }
    note(number)
  }

  /// Notes a number that the record in the store has.
  private func note(_ number: UInt64) { state.withLock { $0.number = max($0.number, number) } }

  private var known: (number: UInt64, generation: UInt64) { state.withLock { ($0.number, $0.generation) } }
}

extension UInt64 {
  /// The next number. The last one has none, which nobody reaches by counting.
  fileprivate var successor: UInt64 { self == .max ? .max : self + 1 }
}
