import CofferCore
import CofferSQLite
import Foundation

extension SlotStore {
  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    guard let events else { return try await commitSilently(batch, from: origin) }
    return try await events.commit(batch, to: self) { try await commitSilently(batch, from: origin) }
  }

  private func commitSilently(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    let writer = try openWriter()
    writer.recovery.beginIfWaiting()
    do {
      let commit = try await commitNow(batch, from: origin, writer)
      if let date = writer.sweeping.takeDue(at: commit.date, after: batch) {
        // A later sweep makes up for a failed one.
        Task { [weak self, writer] in try? await self?.sweep(upTo: date, writer) }
      }
      return commit
    } catch {
      throw noticing(error)
    }
  }

  /// Removes values that had expired at a date, in a commit of its own.
  private func sweep(upTo date: Date, _ writer: SlotWriter) async throws {
    // Each removal takes time under the journal's write lock: in a keyring, tens of milliseconds.
    let limit = handle.slots.keepsSecrets ? 8 : SweepSchedule.limit
    let expired = try await writer.journal.perform { try $0.expiredValues(at: date, limit: limit) }
    if expired.isFull { writer.sweeping.noteMore() }
    if !expired.values.isEmpty {
      let batch = WriteBatch(sweeping: expired.values)
      let start = events.map { _ in ContinuousClock.now }
      let commit = try await commitNow(batch, from: StoreOrigin(), writer, isSweep: true)
      if let start {
        let facts = StoreEvent.Commit(
          commit, batch, .full, since: start, isSweep: true,
          hidesSizes: handle.slots.keepsSecrets)
        events?.emitLater(description, .committed(facts))
      }
    }
    try await writer.journal.perform { try $0.forget(expired) }
  }

  private func commitNow(
    _ batch: WriteBatch, from origin: StoreOrigin, _ writer: SlotWriter, isSweep: Bool = false
  ) async throws -> StoreCommit {
    guard writer.gate.enter() else { throw StorageError.closed(description) }
    defer { writer.gate.leave() }
    try writer.journal.requireWritable()
    try batch.check(capabilities, location: description)
    try Task.checkCancellation()
    try await reconcileBefore(batch, writer.reconciler)
    // System records are in the journal alone, so the store need not be available for them.
    guard batch.operations.contains(where: { $0.isChange && !$0.isAboutRecord }) else {
      var batch = batch
      batch.durability = .full
      return try await writer.journal.commitSilently(batch, from: origin)
    }
    let (handle, operations) = (handle, batch.operations)
    let staged = Locked<[SlotRecord?]>([])
    let hook = CommitHook(
      on: queue, isQuick: !handle.slots.traits.contains(.listsSlowly),
      prepare: {
        let records = try handle.stage(operations)
        staged.withLock { $0 = records }
      },
      apply: { transaction in
        let records = staged.withLock { $0 }
        try SlotJournal.record(operations, records, done: handle.done, of: handle.name, in: transaction) {
          try handle.slots.sync(.staged([$0], isAlone: false))
        }
        handle.reached(.recorded)
      },
      finish: { committer, resume in
        // Removals are recorded as carried out at once.
        let isLazy = !operations.contains(where: \.isRemoval)
        try handle.publish(committer, isLazy: isLazy) { unpublished in resume { unpublished.failure(of: $0) } }
      })
    do {
      return try await writer.journal.commit(batch, from: origin, isSweep: isSweep, hook: hook)
    } catch let unfinished as UnfinishedBatch {
      throw unfinished.cause
    } catch let error as StorageError where error.code == .outcomeUnknown {
      throw error  // The staged values may be the only copies.
    } catch {
      let aside = staged.withLock { $0 }
      if !aside.isEmpty { try? await queue.run { handle.discard(aside) } }
      throw error
    }
  }

  /// Records the edits of other programs that a batch depends on: those to required and removed keys, and for a clear
  /// those to every key.
  private func reconcileBefore(_ batch: WriteBatch, _ reconciler: SlotReconciler) async throws {
    var required: [KeyName] = []
    var removed: [KeyName] = []
    var clears = false
    for operation in batch.operations {
      switch operation {
      case .clear: clears = true
      case .require(let key, _): required.append(key)
      case .delete(let key): removed.append(key)
      case .put, .putRecord, .deleteRecord, .requireRecord: break
      }
    }
    if clears { _ = try await reconciler.scan() }
    required = try await suspects(in: required, reconciler)
    if !required.isEmpty { try await reconciler.reconcile(required) }
    removed = try await suspects(in: removed, reconciler)
    // A symbolic link that replaced a value is removed with it.
    if !removed.isEmpty { try await reconciler.reconcile(removed, skipping: [.notAStore]) }
  }

  private func suspects(in keys: [KeyName], _ reconciler: SlotReconciler) async throws -> [KeyName] {
    guard !keys.isEmpty else { return [] }
    return try await reading { keys.filter(reconciler.isSuspect) }
  }

  func alone(_ body: @escaping @Sendable () throws -> Void) async throws {
    let writer = try openWriter()
    guard writer.gate.enter() else { throw StorageError.closed(description) }
    defer { writer.gate.leave() }
    try await writer.journal.perform { [handle] committer in
      try committer.housekeep {
        try handle.acknowledgeCopy(committer)
        try body()
      }
    }
  }
}
