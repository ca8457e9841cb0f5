import CofferCore
import Foundation

/// The freshness of one open store: compares it with its anchor when it is opened and before each update of the anchor.
///
/// The order is always the same, so that no crash and no other process makes a store look older than it is: the record
/// in the store is durable before the anchor has its number, and the anchor is read before the store.
final class FreshnessGuard: Sendable {
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
  static let attempts = 64
  /// The shortest time after which a failed update is repeated.
  private static let shortestPause = Duration.seconds(1)

  let base: any StorageEngine
  let keys: FreshnessKeys
  let reader: AnchorReader
  let origin = StoreOrigin()
  private let state: Locked<State>

  init(_ reader: AnchorReader, _ ring: KeyRing, over base: any StorageEngine) throws {
    self.reader = reader
    self.base = base
    keys = try FreshnessKeys(ring)
    state = Locked(State(generation: ring.generation))
  }

  deinit { state.withLock { $0.timer?.cancel() } }

  // MARK: Committing

  /// Notes that something was committed, which the anchor covers after the interval.
  func noteCommit(_ generation: UInt64) {
    state.withLock { state in
      state.generation = max(state.generation, generation)
      state.isDirty = true
      startTimer(&state, reader.settings.interval)
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
      base.events?.emitLater(base.description, .failed(.init(.anchoring, code: code, duration: .now - start)))
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
            self.startTimer(&state, max(self.reader.settings.interval, Self.shortestPause))
          }
          throw error
        }
      }
      state.writing = next
      return next
    }
    try await writing?.value
  }

  /// Anchors the store a last time, before it is decrypted for good: another one may follow it.
  func release() async throws {
    try await anchor(nil)
    guard !base.isReadOnly else { return }
    try await update(isReleased: true)
    end()
  }

  /// Makes the anchor cover everything, and ends the updates.
  func close(_ generation: UInt64) async throws {
    defer { end() }
    try await anchor(generation)
  }

  /// Ends the updates.
  private func end() {
    state.withLock { state in
      state.isClosed = true
      state.timer?.cancel()
    }
  }

  // MARK: Records

  typealias Stored = (content: FreshnessRecord, revision: StoreRevision)

  func record() async throws -> Stored? {
    do {
      guard let record = try await base.record(.freshness) else { return nil }
      return (try FreshnessRecord.open(record.content, under: keys), record.revision)
    } catch let error as StorageError {
      throw error.unconfirmed(reader.description, location: base.description)
    }
  }

  func decode(_ bytes: Data) throws -> AnchorRecord {
    do {
      let record = try AnchorRecord(bytes)
      let isAuthentic = try record.isAuthentic(under: keys.anchor)
      guard isAuthentic || record.storeID != keys.storeID else {
        throw StorageError(.damaged, "The anchor of the store was changed by somebody without its key.")
      }
      return record
    } catch let error as StorageError {
      throw error.unconfirmed(reader.description, location: base.description)
    }
  }

  /// Decodes the record of this store.
  func decodeOwn(_ bytes: Data) throws -> AnchorRecord {
    let record = try decode(bytes)
    guard record.storeID == keys.storeID else {
      throw StorageError.replacedStore(
        "this one has another identity", than: record, in: reader.description, location: base.description)
    }
    return record
  }

  func next(_ sequence: UInt64, _ revision: StoreRevision, _ generation: UInt64) -> AnchorRecord {
    AnchorRecord(
      storeID: keys.storeID, sequence: sequence, generation: generation, revision: revision, date: base.clock.now())
  }

  /// Refuses a store that is older than its anchor, or than this process knows it.
  /// - Parameters:
  ///   - stored: the record in the store; read after both of the following.
  ///   - generation: the generation of the key ring.
  ///   - anchored: the record of the anchor.
  ///   - known: the largest number that was known.
  func compare(_ stored: Stored?, _ generation: UInt64, with anchored: AnchorRecord, known: UInt64) throws {
    let sequence = stored?.content.sequence ?? 0
    guard sequence >= anchored.sequence, generation >= anchored.generation else {
      throw StorageError.rolledBack(
        "it has number \(sequence), key ring \(generation) and revision \(base.latestRevision)", than: anchored,
        in: reader.description, location: base.description)
    }
    guard sequence >= known else {
      throw StorageError.recordIsOlder(sequence, than: known, location: base.description)
    }
    note(number: sequence)
  }

  /// Notes a number that the record in the store has.
  func note(number: UInt64) { state.withLock { $0.number = max($0.number, number) } }

  /// The largest number that the record in the store is known to have had.
  var knownNumber: UInt64 { state.withLock { $0.number } }

  /// The newest known generation of the key ring.
  var knownGeneration: UInt64 { state.withLock { $0.generation } }

  var busy: StorageError { .freshnessIsBusy(base.description) }
}

extension UInt64 {
  /// The next number. The last one has none, which nobody reaches by counting.
  var successor: UInt64 { self == .max ? .max : self + 1 }
}
