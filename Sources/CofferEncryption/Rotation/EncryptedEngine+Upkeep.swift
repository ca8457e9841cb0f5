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
    do { try await rollback?.close(cipher.ring.generation) } catch {
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
    let (start, clock) = (ContinuousClock.now, clock)
    // Another process may have replaced the key.
    var state = try await ciphers.reload(after: cipher)
    if policy.isDue(state.ring, at: clock.now()) {
      state = try await ciphers.update { ring in
        if policy.isDue(ring, at: clock.now()) { try ring.addPrimary(now: clock.now()) }
      }
    }
    // Several processes may do the same at once, which is correct.
    guard state.ring.entries.contains(where: { $0.state == .retired }) else {
      return clock.now() + AutomaticRotation.interval
    }
    let rotation = rotation(to: state.ring.primary.id)
    let report = try await withTaskCancellationHandler {
      try await rotation.result()
    } onCancel: {
      rotation.cancel()
    }
    let duration = ContinuousClock.now - start
    if report.changedValues > 0 || !report.removedKeys.isEmpty {
      emit(.keysReplaced(.init(.rotation, report, duration)))
    }
    guard let failure = report.failures.first else { return clock.now() + AutomaticRotation.interval }
    emit(.failed(.init(.rotation, code: failure.error.code, duration: duration)))
    // A value that cannot be read now can hardly be read in a minute.
    return clock.now() + AutomaticRotation.pause
  }
}

extension StoreEvent.KeyReplacement {
  fileprivate init(_ reason: Reason, _ report: KeyRotation.Report, _ duration: Duration) {
    self.init(
      reason, primaryKey: report.primaryKey, removedKeys: report.removedKeys, values: report.changedValues,
      duration: duration)
  }
}
