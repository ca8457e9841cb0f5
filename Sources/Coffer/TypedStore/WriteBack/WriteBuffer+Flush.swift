import CofferLocks

extension WriteBuffer {
  /// Commits every write that was accepted before this call. Cancelling the task does not end the commit.
  /// - Parameter keys: the keys that the caller depends on; `nil` for all. A refused write of others is no error.
  /// - Throws: the error of a commit, after which the writes that were not committed are still pending.
  func flush(_ keys: [StoreKey]? = nil) async throws {
    let (number, target) = state.withLock { $0.beginFlush(keys) }
    do {
      try await wait(for: target, keys)
    } catch {
      _ = state.withLock { $0.endFlush(number) }
      throw error
    }
    // Writes that were given up meanwhile are not committed.
    guard state.withLock({ $0.endFlush(number) }) else {
      throw StorageError(
        .unfinished, "Pending writes were discarded while they were flushed.",
        advice: "Those that were committed before stay; save the others again if they are needed.", location: location)
    }
  }

  private func wait(for target: UInt64, _ keys: [StoreKey]?) async throws {
    // What a run has tried is read with the run: another one may begin as soon as it ends.
    while let (run, tried) = state.withLock({ state -> (Task<Void, any Error>, UInt64)? in
      if state.isDone(target, keys) { return nil }
      // Also if a run is under way, which may not try what was refused: then the next one does.
      if keys?.contains(where: state.held.contains) ?? true { state.askForRetry() }
      return (present(&state), state.tried)
    }) {
      do {
        try await run.value
      } catch {
        let isRefusal = StoredError.storage(error).isAboutContent
        if tried < target, isRefusal { continue }
        let (isDone, refusal) = state.withLock { ($0.isDone(target, keys), $0.refusal(of: keys)) }
        guard isDone else { throw (isRefusal ? refusal : nil) ?? error }
      }
    }
  }

  /// Returns the run that is under way, or begins one with all present groups.
  private func present(_ state: inout State) -> Task<Void, any Error> {
    if let run = state.run { return run }
    state.seal()
    let run = SavingTask.throwing { try await self.commitSealed() }
    state.run = run
    return run
  }

  private func commitSealed() async throws {
    while let group = state.withLock({ $0.nextSealed() }) {
      let batch = group.batch
      do {
        let commit = try await engine.commit(batch, from: origin)
        // First into the cache, so that a read in between finds the value in either.
        cache?.committed(commit, group.written, expiries: batch.expiries)
        state.withLock { $0.finishFirst() }
      } catch {
        let error = StoredError.storage(error)
        guard error.isAboutContent else {
          endRun(error, isWhole: false)
          throw error
        }
        state.withLock { $0.divideFirst(error) }
      }
    }
    let refusal = state.withLock { $0.refusal(of: nil) }
    endRun(refusal, isWhole: true)
    if let refusal { throw refusal }
  }

  /// - Parameter isWhole: whether every group was committed or refused.
  private func endRun(_ error: StorageError?, isWhole: Bool) {
    let (needsWindow, retryInterval) = state.withLock { state -> (Bool, Duration?) in
      state.unseal()
      state.failure = error
      defer { state.isDue = false }
      // A store that is closed stays so: it accepts no further writes, and keeps these for `discard`.
      if error?.code == .closed { state.isClosed = true }
      if isWhole, state.isDue, state.isReady, state.waitingDiscards == 0 {
        _ = present(&state)
        return (false, nil)
      }
      guard error?.code != .closed else { return (false, nil) }
      let needsRetry = !state.held.isEmpty && !state.isRetryDue && !state.isRetryScheduled
      let needsWindow = state.isReady && !state.isScheduled
      if needsRetry { state.isRetryScheduled = true }
      if needsWindow { state.isScheduled = true }
      return (needsWindow, needsRetry ? .seconds(min(60, 1 << min(state.retries, 6))) : nil)
    }
    if needsWindow { policy.scheduler.schedule(self, after: policy.window) }
    if let retryInterval {
      policy.scheduler.schedule(self, after: max(retryInterval, policy.window), isRetry: true)
    }
  }

  /// Begins to commit what is pending; a failure is kept in the state and repeated after another window.
  /// - Parameter isRetry: whether it is the time to try again what was refused.
  func windowEnded(isRetry: Bool = false) {
    state.withLock { state in
      if isRetry {
        (state.isRetryScheduled, state.isRetryDue) = (false, true)
        state.retries += 1
      } else {
        state.isScheduled = false
      }
      state.isDue = state.run != nil
      if state.isReady { _ = present(&state) }
    }
  }

  /// Gives up the pending writes, after those that are being committed. Returns the keys of the others.
  func discard() async -> [StoreKey] {
    state.withLock { $0.waitingDiscards += 1 }
    while true {
      let (run, given) = state.withLock { state -> (Task<Void, any Error>?, [StoreKey]) in
        // Not beside a run, which tries the refused ones as well.
        if let run = state.run { return (run, []) }
        state.waitingDiscards -= 1
        return (nil, state.discard())
      }
      guard let run else { return given }
      _ = await run.result
    }
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
