import CofferCore
import Foundation

extension EncryptedEngine {
  /// Ends the automatic rotation of keys, updates the anchor, if the store has one, and closes the store behind this
  /// engine. An erasure that an earlier process has not finished is finished before, but for rewriting files of more
  /// than 16 MiB. A rotation that was begun by a call goes on, and fails.
  /// - Throws: also the errors of the anchor; the store is closed then.
  public func close() async throws {
    await automaticRotation?.stop()
    let shredding = shredding.withLock { $0 }
    shredding?.cancel()
    await shredding?.value
    do { try await freshness?.close(cipher.ring.generation) } catch {
      try await base.close()
      throw error
    }
    try await base.close()
  }

  /// Begins what the engine does by itself.
  func beginUpkeep() {
    guard !isReadOnly else { return }
    automaticRotation?.start(self)
    guard cipher.ring.entries.contains(where: { $0.state == .destroyed }) else { return }
    shredding.withLock { $0 = Task { await self.continueShreddingAfterOpening() } }
  }

  /// Tells what the engine did by itself.
  func emit(_ kind: StoreEvent.Kind) { events?.emitLater(description, kind) }

  /// Replaces the key of the store if a policy says so, or continues an interrupted rotation.
  /// - Returns: the date of the next check.
  func rotate(by policy: KeyRotation.Policy) async -> Date {
    let start = ContinuousClock.now
    do {
      return try await rotateIfDue(policy)
    } catch {
      if !(error is CancellationError) {
        emit(.failed(.init(.rotation, code: (error as? StorageError)?.code, duration: ContinuousClock.now - start)))
      }
      return clock.now() + AutomaticRotation.interval
    }
  }

  private func rotateIfDue(_ policy: KeyRotation.Policy) async throws -> Date {
    // Another process may have replaced the key.
    let ring = try await ciphers.reload(after: cipher).ring
    let (start, now) = (ContinuousClock.now, clock.now())
    let isInterrupted = ring.entries.contains { $0.state == .retired }
    // The operation that encrypts or decrypts the store is continued by its caller.
    guard ring.phase == .complete, isInterrupted || policy.isDue(ring, at: now) else {
      return now + AutomaticRotation.interval
    }
    let lease = RotationLease(base)
    if let end = try await lease.take(at: now) { return end }
    do {
      guard let rotation = try await rotation(by: policy) else {
        try await lease.end(at: nil)
        return clock.now() + AutomaticRotation.interval
      }
      let renewal = lease.renewal(clock)
      defer { renewal.cancel() }
      let report = try await withTaskCancellationHandler {
        try await rotation.result()
      } onCancel: {
        rotation.cancel()
      }
      // A value that cannot be read now can hardly be read in a minute.
      try await lease.end(at: report.isComplete ? nil : clock.now() + RotationLease.pause)
      let duration = ContinuousClock.now - start
      emit(.keysReplaced(.init(.rotation, report, duration)))
      if let failure = report.failures.first {
        emit(.failed(.init(.rotation, code: failure.error.code, duration: duration)))
      }
      return clock.now() + AutomaticRotation.interval
    } catch {
      try? await lease.end(at: nil)
      throw error
    }
  }

  /// Begins a rotation under a new key if a policy demands one, and otherwise under the present key.
  /// - Returns: `nil` if another process has finished it meanwhile.
  private func rotation(by policy: KeyRotation.Policy) async throws -> KeyRotation? {
    let clock = clock
    var state = try await ciphers.reload(after: cipher)
    if policy.isDue(state.ring, at: clock.now()) {
      state = try await ciphers.update { ring in
        guard ring.phase == .complete else { throw StorageError.isTransitional(description) }
        if policy.isDue(ring, at: clock.now()) { try ring.addPrimary(now: clock.now()) }
      }
    }
    guard state.ring.entries.contains(where: { $0.state == .retired }) else { return nil }
    return continueRotation(to: state.ring.primary.id)
  }
}

extension StoreEvent.KeyReplacement {
  fileprivate init(_ reason: Reason, _ report: KeyRotation.Report, _ duration: Duration) {
    self.init(
      reason, primaryKey: report.primaryKey, removedKeys: report.removedKeys, values: report.changedValues,
      duration: duration)
  }
}
