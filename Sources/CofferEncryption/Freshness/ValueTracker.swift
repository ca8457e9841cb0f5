import CofferCore
import CofferCrypto
import CofferLocks
import Foundation

/// Commits to a store whose values are covered: each commit replaces the record of the values together with them.
///
/// The record is a precondition of each commit, so that of several processes one is first and the others compute theirs
/// anew. Commits of one process wait for each other.
final class ValueTracker: Sendable {
  /// A record as it was read.
  struct Stored: Sendable {
    let record: ValuesRecord
    let revision: StoreRevision
  }

  /// The values and their record in one state of the store.
  struct Scan: Sendable {
    let stored: Stored
    /// The record of the freshness; `nil` if there is none.
    let freshness: Data?
    let values: ValueCount
  }

  private let base: any StorageEngine
  private let freshness: FreshnessGuard?
  private let turns: CommitTurns
  private let known = Locked<Stored?>(nil)

  /// - Parameter freshness: the anchor of the store, which follows the commits.
  init(_ base: any StorageEngine, _ freshness: FreshnessGuard?) {
    (self.base, self.freshness, turns) = (base, freshness, freshness?.turns ?? CommitTurns())
  }

  // MARK: Committing

  /// A batch on its way into the store.
  private struct Pending: Sendable {
    let batch: WriteBatch
    let changes: ValueChanges
    let keys: FreshnessKeys
    let cipher: StoreCipher
    let origin: StoreOrigin
  }

  private enum Attempt: Sendable {
    case committed(StoreCommit)
    /// Others have changed what the batch replaces.
    case outdated
    /// The digest is not known, or not the version of a value that the batch replaces.
    case mustCount
  }

  /// Commits a batch of stored keys and sealed values, with the record of the values if the store has one.
  @discardableResult
  func commit(_ batch: WriteBatch, under cipher: StoreCipher, from origin: StoreOrigin) async throws -> StoreCommit {
    var batch = batch
    batch.keepsForms = true  // The engine has added their removal where values change.
    let commit =
      if let keys = cipher.tracking, batch.changesValues {
        try await commit(
          Pending(
            batch: batch, changes: try ValueChanges(batch, under: keys), keys: keys, cipher: cipher, origin: origin))
      } else {
        try await base.commit(batch, from: origin)
      }
    freshness?.noteCommit(cipher.ring.generation)
    return commit
  }

  private func commit(_ pending: Pending) async throws -> StoreCommit {
    var (attempts, counts) = (CommitAttempts(at: base.description), false)
    while true {
      switch try await attempt(pending, counts: counts) {
      case .committed(let commit): return commit
      case .mustCount: counts = true
      case .outdated: try await attempts.wait()
      }
    }
  }

  /// Reads what a batch replaces, and then waits for its turn. A turn never waits for a snapshot: those who have one
  /// may be waiting for the turn.
  private func attempt(_ pending: Pending, counts: Bool) async throws -> Attempt {
    let (changes, cipher, keys, base) = (pending.changes, pending.cipher, pending.keys, base)
    if counts {
      return try await base.withSnapshot { [self] snapshot in
        let replaced = try await ReplacedValues(
          except: changes, countedIn: snapshot.listingKeptForms, of: base, under: cipher, keys)
        return try await commit(pending, replacing: replaced)
      }
    }
    guard !changes.prefixes.isEmpty, !changes.clearsAll else {
      return try await commit(
        pending, replacing: unlessDamaged { try await ReplacedValues(of: changes, in: base, under: cipher, keys) })
    }
    return try await base.withSnapshot { [self] snapshot in
      try await commit(
        pending,
        replacing: unlessDamaged {
          try await ReplacedValues(of: changes, listedIn: snapshot.listingKeptForms, of: base, under: cipher, keys)
        })
    }
  }

  /// Calls `body`; returns `nil` for a damaged value, whose version is not known.
  private func unlessDamaged<R>(_ body: () async throws -> R) async throws -> R? {
    do { return try await body() } catch let error as StorageError where error.code == .damaged {
      tellDamage(error.key)
      return nil
    }
  }

  /// Commits a batch when it is its turn.
  private func commit(_ pending: Pending, replacing replaced: ReplacedValues?) async throws -> Attempt {
    guard let replaced else { return .mustCount }
    return try await turns.run {
      let present = try await present(pending.keys, pending.cipher, pending.origin)
      guard let updated = try await unlessDamaged({ try await replaced.updated(to: present.revision) }) else {
        return .mustCount
      }
      guard let updated else { return .outdated }
      guard let next = digest(after: pending.changes, updated, present) else { return .mustCount }
      return try await commit(pending, next, present)
    }
  }

  /// Returns the digest after a batch; `nil` if that before it is not known.
  private func digest(
    after changes: ValueChanges, _ replaced: ReplacedValues, _ present: Stored
  ) -> ValueDigest? {
    if changes.clearsAll { return changes.applied(to: ValueDigest(), replacing: [:]) }
    guard let before = replaced.others ?? present.record.digest else { return nil }
    return changes.applied(to: before, replacing: replaced.versions)
  }

  private func commit(_ pending: Pending, _ next: ValueDigest, _ present: Stored) async throws -> Attempt {
    let batch = pending.batch
    var operations: [WriteBatch.Operation] = [.requireRecord(ValuesRecord.name, present.revision)]
    let record = next == present.record.digest ? nil : present.record.with(next)
    if let record { operations.append(.putRecord(ValuesRecord.name, try record.sealed(under: pending.keys))) }
    var covered = WriteBatch(
      batch.operations + operations, transaction: batch.transaction, durability: batch.durability)
    covered.keepsForms = true
    do {
      let commit = try await base.commit(covered, from: pending.origin)
      known.withLock { $0 = record.map { Stored(record: $0, revision: commit.revision) } ?? present }
      return .committed(commit)
    } catch {
      known.withLock { $0 = nil }
      guard let error = error as? StorageError, error.code == .preconditionFailed,
        (try? await stored(pending.keys))?.revision != present.revision
      else { throw error }
      return .outdated
    }
  }

  /// Counts the values of a store whose record does not have their digest yet.
  /// - Throws: `preconditionFailed` if another process has changed the key ring.
  func complete(under cipher: StoreCipher) async throws {
    guard let keys = cipher.tracking else { return }
    var attempts = CommitAttempts(at: base.description)
    while try await present(keys, cipher, StoreOrigin()).record.digest == nil {
      known.withLock { $0 = nil }
      guard let scan = try await scanUnlessMissing(keys) else { continue }
      guard scan.stored.record.digest == nil else { return }
      let content = try scan.stored.record.with(scan.values.digest).sealed(under: keys)
      do {
        try await base.commit(
          WriteBatch(
            [.requireRecord(ValuesRecord.name, scan.stored.revision), .putRecord(ValuesRecord.name, content)]),
          from: StoreOrigin())
      } catch let error as StorageError where error.code == .preconditionFailed { try await attempts.wait() }
    }
  }

  // MARK: The record

  /// Reads the record; `nil` if there is none.
  /// - Throws: `damaged`, `newerFormat`.
  func stored(_ keys: FreshnessKeys) async throws -> Stored? {
    guard let record = try await base.record(ValuesRecord.name) else { return nil }
    do {
      return Stored(record: try ValuesRecord.open(record.content, under: keys), revision: record.revision)
    } catch let error as StorageError { throw error.locating(at: base.description) }
  }

  /// Returns the newest known record. One that is missing or damaged is replaced by one that follows none, which an
  /// anchor notices.
  private func present(_ keys: FreshnessKeys, _ cipher: StoreCipher, _ origin: StoreOrigin) async throws -> Stored {
    if let known = known.withLock({ $0 }) { return known }
    var attempts = CommitAttempts(at: base.description)
    while true {
      do {
        if let stored = try await stored(keys) {
          known.withLock { $0 = stored }
          return stored
        }
      } catch let error as StorageError where error.code == .damaged {}
      try await replaceLost(keys, cipher, origin)
      try await attempts.wait()
    }
  }

  private func replaceLost(_ keys: FreshnessKeys, _ cipher: StoreCipher, _ origin: StoreOrigin) async throws {
    let lost = ValuesRecord(sequence: 0, digest: nil)
    var operations = cipher.precondition
    // The revision of a record that the store itself finds damaged is not known.
    do {
      let damaged = try await base.record(ValuesRecord.name)
      operations.append(.requireRecord(ValuesRecord.name, damaged?.revision))
    } catch let error as StorageError where error.code == .damaged {}
    operations.append(.putRecord(ValuesRecord.name, try lost.sealed(under: keys)))
    do {
      try await base.commit(WriteBatch(operations), from: origin)
      tellDamage(nil)
    } catch let error as StorageError where error.code == .preconditionFailed {
      // Another process was first, or the ring has changed.
      guard (try? await stored(keys)) != nil else { throw error }
    }
  }

  /// Counts all values in one state of the store, with the records of this state.
  /// - Throws: `damaged` if the record or the list of the values is; `busy`; also ``Missing`` without a record.
  func scan(_ keys: FreshnessKeys) async throws -> Scan {
    var attempts = CommitAttempts(at: base.description)
    while true {
      let found = try await base.withSnapshot { [self] snapshot -> Scan? in
        guard let stored = try await stored(keys) else { throw Missing() }
        let freshness = try await base.record(FreshnessRecord.name)
        // Otherwise a record was replaced after the snapshot was taken.
        guard max(stored.revision, freshness?.revision ?? .zero) <= snapshot.revision else { return nil }
        return Scan(
          stored: stored, freshness: freshness?.content,
          values: try await ValueCount(of: snapshot.listingKeptForms, under: keys))
      }
      if let found { return found }
      try await attempts.wait()
    }
  }

  /// The store has no record of its values.
  struct Missing: Error {}

  /// Returns `nil` if another process has removed the record, by decrypting the store.
  private func scanUnlessMissing(_ keys: FreshnessKeys) async throws -> Scan? {
    do { return try await scan(keys) } catch is Missing { return nil }
  }

  /// Tells an event during a turn, which a handler that writes would wait for.
  private func tellDamage(_ key: StoreKey?) {
    let report = DamageReport(key: key, revision: .zero, size: nil, location: base.description)
    base.events?.tellLater(base.description, .damaged(report))
  }

  // MARK: Accepting

  /// Returns the operations that make the present values those that are covered; `nil` if the store covers none.
  /// - Parameter sequence: the next number of the record of the freshness.
  func acceptance(_ sequence: UInt64, under cipher: StoreCipher) async throws -> [WriteBatch.Operation]? {
    guard let keys = cipher.tracking else { return nil }
    while true {
      known.withLock { $0 = nil }
      _ = try await present(keys, cipher, StoreOrigin())
      known.withLock { $0 = nil }
      guard let scan = try await scanUnlessMissing(keys) else { continue }
      let record = try ValuesRecord(sequence: sequence, digest: scan.values.digest).sealed(under: keys)
      return [.requireRecord(ValuesRecord.name, scan.stored.revision), .putRecord(ValuesRecord.name, record)]
    }
  }
}
