import CofferLocks

extension WriteBuffer {
  /// Commits every write that was accepted before this call. Cancelling the task does not end the commit.
  /// - Throws: the error of a commit, after which the writes that were not committed are still pending.
  func flush() async throws {
    let (target, discards) = state.withLock { ($0.last, $0.discards.count) }
    while let run = state.withLock({ $0.done >= target ? nil : present(&$0) }) {
      do {
        try await run.value
      } catch {
        guard state.withLock({ $0.done >= target }) else { throw error }
      }
    }
    // Writes that were given up meanwhile are not committed.
    let isWhole = state.withLock { $0.discards.dropFirst(discards).allSatisfy { $0.kept >= target } }
    guard isWhole else {
      throw StorageError(
        .unfinished, "Pending writes were discarded while they were flushed.",
        advice: "Those that were committed before stay; save the others again if they are needed.", location: location)
    }
  }

  /// Returns the run that is under way, or begins one with all present groups.
  private func present(_ state: inout State) -> Task<Void, any Error> {
    if let run = state.run { return run }
    state.sealed = state.groups.count
    let run = SavingTask.throwing { try await self.commitSealed() }
    state.run = run
    return run
  }

  private func commitSealed() async throws {
    do {
      while let group = state.withLock({ $0.sealed > 0 ? $0.groups.first : nil }) {
        let batch = group.batch
        let commit = try await engine.commit(batch, from: origin)
        // First into the cache, so that a read in between finds the value in either.
        cache?.committed(commit, group.written, expiries: batch.expiries)
        state.withLock { $0.finishFirst() }
      }
    } catch {
      let error = StoredError.storage(error)
      endRun(error)
      throw error
    }
    endRun(nil)
  }

  private func endRun(_ error: StorageError?) {
    let needsWindow = state.withLock { state in
      state.sealed = 0
      state.run = nil
      state.failure = error
      defer { state.isDue = false }
      // A store that is closed stays so: it accepts no further writes, and keeps these for `discard`.
      if error?.code == .closed { state.isClosed = true }
      if error == nil, state.isDue, !state.groups.isEmpty {
        _ = present(&state)
        return false
      }
      guard !state.groups.isEmpty, !state.isScheduled, error?.code != .closed else { return false }
      state.isScheduled = true
      return true
    }
    if needsWindow { policy.scheduler.schedule(self, after: policy.window) }
  }

  /// Begins to commit what is pending; a failure is kept in the state and repeated after another window.
  func windowEnded() {
    state.withLock { state in
      state.isScheduled = false
      state.isDue = state.run != nil
      if !state.groups.isEmpty { _ = present(&state) }
    }
  }

  /// Gives up the pending writes, after those that are being committed. Returns the keys of the others.
  func discard() async -> [StoreKey] {
    _ = await state.withLock { $0.run }?.result
    return state.withLock { $0.discard() }
  }

  /// Accepts no further write, and flushes. If that fails, writes are accepted again.
  func close() async throws {
    state.withLock { $0.isClosed = true }
    do {
      try await flush()
    } catch {
      state.withLock { $0.isClosed = $0.failure?.code == .closed }
      throw error
    }
  }
}
