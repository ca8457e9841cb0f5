import CofferCore
import Dispatch

/// Timeouts, damaged pages and device failures.
extension Writer {
  /// Returns the uptime in nanoseconds at this many milliseconds from now.
  func deadline(milliseconds: Int) -> UInt64 {
    DispatchTime.now().uptimeNanoseconds &+ UInt64(clamping: milliseconds) &* 1_000_000
  }

  /// Takes the requests that did not get the lock out of a group, of which others may be committed if they were tried
  /// one by one. Fails those past their deadline; the rest waits for the lock again.
  func answerBusy(
    _ group: inout [WriteRequest], _ batches: inout [PreparedBatch], _ results: inout [Result<StoreRevision, any Error>]
  ) {
    let isBusy = results.map(\.isBusy)
    guard isBusy.contains(true) else { return }
    let busy = zip(group, results).filter { $0.1.isBusy }
    (group, batches, results) = (group.omitting(isBusy), batches.omitting(isBusy), results.omitting(isBusy))
    let limit = deadline(milliseconds: 10)
    let rest = busy.map(\.0).filter { $0.deadline > limit }
    let refusal = queue.withLock { queue in
      if queue.refusal == nil { queue.requests.insert(contentsOf: rest, at: 0) }
      return queue.refusal
    }
    for (request, result) in busy {
      if request.deadline <= limit, let error = result.error { request.refuse(error) }
      if request.deadline > limit, let refusal { request.refuse(refusal) }
    }
  }

  /// Tells that a group had to wait for the lock of another process.
  func tellWait(_ committer: GroupCommitter, _ events: CofferEvents) {
    let pauses = committer.connection.pauses
    guard pauses > 0 else { return }
    events.emitLater(file.description, .retried(StoreEvent.Retry(.writeLock, attempt: pauses, code: .busy)))
  }

  /// Retries batches that failed at a damaged page, ignoring page checksums, if the row checksums prove that no row is
  /// missing. This allows a damaged value to be replaced.
  func salvaging(
    _ results: [Result<StoreRevision, any Error>], _ batches: [PreparedBatch], _ durability: StoreDurability
  ) -> [Result<StoreRevision, any Error>] {
    guard let failure = results.lazy.compactMap({ $0.error as? StorageError }).first(where: \.isDamagedPage),
      maySalvage.withLock({ $0 })?(failure) == true
    else { return results }
    var past = file
    past.ignoresPageFaults = true
    guard let committer = try? makeCommitter(past) else { return results }
    return zip(results, batches).map { result, batch in
      (result.error as? StorageError)?.isDamagedPage == true
        ? committer.commit(batch, durability: durability) : result
    }
  }

  func closeIfDeviceFailed(_ error: (any Error)?) {
    guard let error = error as? StorageError, error.code == .outcomeUnknown else {
      if listener.failure.isGiven() { closeAfterFailureElsewhere() }
      return
    }
    refuse(
      StorageError(
        .closed, "The store was closed after the device failed to confirm a commit.",
        advice: "Check the device, then reopen the store and check its contents.", location: file.description,
        underlying: error.underlying))
  }

  /// Closes the store after a failed sync in another process: cached contents may be lost on the device.
  func closeAfterFailureElsewhere() {
    if queue.withLock({ $0.refusal == nil }) { refuse(.failureElsewhere(file)) }
  }

  /// Rejects all further requests and fails the waiting ones.
  func refuse(_ refusal: StorageError) {
    let requests = queue.withLock { queue in
      queue.refusal = refusal
      defer { queue.requests.removeAll { $0.id != Self.stopID } }
      return queue.requests.filter { $0.id != Self.stopID }
    }
    for request in requests { request.refuse(refusal) }
    listener.fail(refusal)
  }
}

extension Array {
  /// Returns the elements that are not marked.
  func omitting(_ marks: [Bool]) -> [Element] { zip(self, marks).filter { !$0.1 }.map(\.0) }
}

extension Result {
  package var error: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }

  var isBusy: Bool { (error as? StorageError)?.code == .busy }
}
