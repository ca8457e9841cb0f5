public import CofferCore
import Foundation

extension EncryptedEngine {
  /// Erases all encrypted values of the store for good, by destroying their keys.
  ///
  /// First, one commit replaces every key in the key ring by a new one, and with hidden names the key of their hashes,
  /// too, unless the store has an anchor. From then on nobody can open the values and names, not even with the root
  /// key and all files of the store.
  /// Then the unreadable values, the values in the quarantine and the remains of the old key ring in free pages and in
  /// the log are removed; commits wait while the files are rewritten. Plain values of a store of which only declared
  /// keys are encrypted stay; other system records, too. The store can be used afterwards, and meanwhile: a value that
  /// is not removed yet throws `keyUnavailable` with the date, and can be replaced and deleted. With hidden names, it
  /// is absent under its name, and listings throw until it is removed.
  ///
  /// If the process ends after the first step, the next opening for writing continues, and so does
  /// ``continueShredding(from:)``. A second call of this function instead erases everything that was written since the
  /// first one as well. Another process that has the store open has the old keys in memory,
  /// and may return an old value until it has noticed the commit of the first step.
  ///
  /// ```swift
  /// let report = try await engine.shred()
  /// print(report.values, "values erased.", ShredReport.limits)
  /// ```
  /// - Parameters:
  ///   - dryRun: whether only the report is made; `false` by default.
  ///   - origin: the origin of the commits that remove values.
  /// - Throws: `readOnly` unless `dryRun`, `unsupported` for a store without listings; the errors of a commit. If it is
  ///   one of a later step, the values are erased nevertheless.
  @discardableResult
  public func shred(dryRun: Bool = false, from origin: StoreOrigin = StoreOrigin()) async throws -> ShredReport {
    try checkShredding(dryRun: dryRun)
    if dryRun {
      let ring = try await ciphers.reload(after: cipher).ring
      return try await shreddingForecast(of: ring.entries.filter { $0.key != nil }.map(\.id), isEverything: true)
    }
    let ids = try await destroyAllKeys()
    var report = ShredReport(isDryRun: false, destroyedKeys: ids.map(\.short))
    try await finishShredding(ids, isEverything: true, &report, from: origin)
    return report
  }

  /// Destroys every key in one commit, and returns their ids.
  private func destroyAllKeys() async throws -> [KeyID] {
    // The keys of an anchor are derived from the index key, which then stays.
    let isAnchored = try await hasAnchor()
    let replacesIndexKey = hidesNames && !isAnchored
    let isUnanchored = { replacesIndexKey ? [WriteBatch.Operation.requireRecord(.rollback, nil)] : [] }
    let clock = clock
    var ids: [KeyID] = []
    do {
      try await ciphers.update(with: isUnanchored) { ring in
        ids = try ring.destroyAll(now: clock.now(), replacingIndexKey: replacesIndexKey)
      }
      return ids
    } catch let error as StorageError where error.code == .busy && replacesIndexKey {
      // Another process has just anchored the store: decided again, once, since an anchor is not removed.
      guard try await hasAnchor() else { throw error }
      return try await destroyAllKeys()
    }
  }

  private func hasAnchor() async throws -> Bool {
    if rollback != nil { return true }
    return try await base.hasRollbackRecord()
  }

  /// Destroys one retired key, and so erases what it has encrypted: what a rotation could not write anew.
  ///
  /// The other promises are those of ``shred(dryRun:from:)``.
  /// - Parameters:
  ///   - id: the short id of a retired key, as `KeyRotation.Report` and errors show it.
  ///   - dryRun: whether only the report is made; `false` by default.
  ///   - origin: the origin of the commits that remove values.
  /// - Throws: also `notFound` if no key has the id; `unsupported` for the primary key.
  @discardableResult
  public func shred(
    key id: String, dryRun: Bool = false, from origin: StoreOrigin = StoreOrigin()
  ) async throws -> ShredReport {
    try checkShredding(dryRun: dryRun)
    let ring = try await ciphers.reload(after: cipher).ring
    guard let entry = ring.entries.first(where: { $0.id.short == id && $0.key != nil }) else {
      throw StorageError(
        .notFound, "The store has no key '\(id.escapingControlCharacters)'.",
        advice: "List its keys. Nothing was changed.", location: description)
    }
    guard entry.state == .retired else {
      throw StorageError(
        .unsupported, "The key \(entry.id.short) encrypts new values and cannot be destroyed by itself.",
        advice: "Rotate first, or erase the whole store. Nothing was changed.", location: description)
    }
    if dryRun { return try await shreddingForecast(of: [entry.id], isEverything: false) }
    let clock = clock
    try await ciphers.update { ring in
      if ring.keys[entry.id] != nil { try ring.destroy(entry.id, now: clock.now()) }
    }
    var report = ShredReport(isDryRun: false, destroyedKeys: [entry.id.short])
    try await finishShredding([entry.id], isEverything: false, &report, from: origin)
    return report
  }

  /// Finishes what an earlier ``shred(dryRun:from:)`` or ``shred(key:dryRun:from:)`` could not, of this process or
  /// of one that was killed: removes what destroyed keys have encrypted, and the remains of the keys in the files.
  ///
  /// No further key is destroyed, and what was written since stays. Does nothing if nothing is unfinished.
  /// - Parameter origin: the origin of the commits that remove values.
  /// - Returns: what was removed; ``ShredReport/destroyedKeys`` is empty if nothing was unfinished.
  /// - Throws: `readOnly`, `unsupported` for a store without listings; the errors of a commit.
  @discardableResult
  public func continueShredding(from origin: StoreOrigin = StoreOrigin()) async throws -> ShredReport {
    try checkShredding()
    let ids = try await ciphers.reload(after: cipher).ring.destroyedIDs
    var report = ShredReport(isDryRun: false, destroyedKeys: ids.map(\.short))
    if !ids.isEmpty { try await finishShredding(ids, isEverything: false, &report, from: origin) }
    return report
  }

  /// Frees the files of the store from what they hold beside its present content: removed values, and key rings with
  /// keys that a rotation has removed. Every page is written anew; commits wait meanwhile, and those of other
  /// processes can fail with `busy` if a large store takes longer than their `busyTimeout`. Rows of an application's
  /// own tables without an `INTEGER PRIMARY KEY` may be numbered anew.
  /// - Throws: `busy` if others use the store's log for too long, `readOnly`, `unsupported` for an engine that cannot
  ///   do it, `diskFull`. The content is unchanged.
  public func scrub() async throws {
    guard !isReadOnly else { throw StorageError.cannotShred(description) }
    _ = try await base.scrubFiles()
  }

  /// Continues what a process could not finish that was killed. Called when the store is opened. After the task is
  /// cancelled, by closing, the remains are still removed, but large files are not rewritten any more: processes that
  /// are open for a moment only must finish as well.
  func continueShreddingAfterOpening() async {
    let start = ContinuousClock.now
    // Not children of this task, whose cancellation would end them.
    let removal = Task {
      var report = ShredReport(isDryRun: false)
      let ids = cipher.ring.destroyedIDs
      report.destroyedKeys = ids.map(\.short)
      try await removeRemains(ids, isEverything: false, &report, from: StoreOrigin())
      return (ids, report)
    }
    do {
      let (ids, removed) = try await removal.value
      let limit = Task.isCancelled ? Self.scrubbedSize : nil
      try await Task {
        var report = removed
        try await scrubRemains(ids, upTo: limit, &report)
        tellShredding(report, since: start)
      }.value
    } catch let error as StorageError where error.code != .closed {
      emit(.failed(.init(.shredding, code: error.code, duration: ContinuousClock.now - start)))
    } catch {
      // The engine is closed.
    }
  }

  private func checkShredding(dryRun: Bool = false) throws {
    guard dryRun || !isReadOnly else { throw StorageError.cannotShred(description) }
    guard capabilities.contains([.listing, .snapshots]) else {
      throw StorageError.unsupported(
        "erasing all values, which needs listings and snapshots", advice: "Delete each value.", location: description)
    }
  }

  private func shreddingForecast(of ids: [KeyID], isEverything: Bool) async throws -> ShredReport {
    var report = ShredReport(isDryRun: true, destroyedKeys: ids.map(\.short))
    let remains = ShredRemains(engine: self, keys: ids, isEverything: isEverything, origin: StoreOrigin())
    try await remains.count(&report)
    report.quarantinedValues = try await remains.quarantined().count
    return report
  }

  /// Removes what destroyed keys have encrypted, and what the files hold of them.
  private func finishShredding(
    _ ids: [KeyID], isEverything: Bool, _ report: inout ShredReport, from origin: StoreOrigin
  ) async throws {
    let start = ContinuousClock.now
    let ids = ids + cipher.ring.destroyedIDs.filter { !ids.contains($0) }
    try await removeRemains(ids, isEverything: isEverything, &report, from: origin)
    try await scrubRemains(ids, upTo: nil, &report)
    tellShredding(report, since: start)
  }

  /// Removes the values of destroyed keys.
  private func removeRemains(
    _ ids: [KeyID], isEverything: Bool, _ report: inout ShredReport, from origin: StoreOrigin
  ) async throws {
    // What is removed next must not come back with the keys after a power loss.
    try await base.flush()
    let remains = ShredRemains(engine: self, keys: ids, isEverything: isEverything, origin: origin)
    try await remains.remove(&report)
    let quarantined = try await remains.quarantined()
    if !quarantined.isEmpty { try await base.quarantine?.removeQuarantined(quarantined) }
    report.quarantinedValues = quarantined.count
    try await base.flush()
  }

  /// Removes what the files hold of destroyed keys, and then their ids, which say that there is something to continue.
  /// - Parameter limit: the size in bytes of the largest store whose files are rewritten; `nil` for any.
  private func scrubRemains(_ ids: [KeyID], upTo limit: Int?, _ report: inout ShredReport) async throws {
    var isScrubbed = false
    do { isScrubbed = try await base.scrubFiles(upTo: limit) } catch let error as StorageError {
      report.obstacles.append(error)
    }
    if isScrubbed {
      try await ciphers.update { ring in
        for id in ring.destroyedIDs where ids.contains(id) { try ring.remove(id) }
      }
    }
  }

  private func tellShredding(_ report: ShredReport, since start: ContinuousClock.Instant) {
    emit(
      .keysReplaced(
        .init(
          .shredding, primaryKey: cipher.ring.primary.id.short, removedKeys: report.destroyedKeys,
          values: report.values, duration: ContinuousClock.now - start)))
  }
}

extension KeyRing {
  /// The ids of destroyed keys, whose remains are not all removed yet.
  fileprivate var destroyedIDs: [KeyID] { entries.filter { $0.state == .destroyed }.map(\.id) }
}

extension StorageError {
  fileprivate static func cannotShred(_ location: String) -> StorageError {
    StorageError(
      .readOnly, "The store is open for reading only, and erasing values writes it.",
      advice: "Nothing was written. Open it where it can be written, with write access.", location: location)
  }
}
