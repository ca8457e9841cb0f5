import CofferCore
import Foundation

/// Commits groups for a store: borrows connections, repeats what was certainly not applied, and finds out the outcome
/// of commits that were not answered.
struct StoreCommitter {
  let store: PostgreSQLStore

  /// The number of times that a group is tried which other transactions have thwarted.
  private static let attempts = 5

  private var database: PostgreSQLDatabase { store.database }

  /// Commits a group and returns the revision after each batch. A batch that cannot be applied fails alone.
  func commit(_ group: [CommitRequest]) async -> [Result<StoreRevision, any Error>] {
    let results = await tryTogether(group)
    // The transaction as a whole failed, for example because one value is too large: find the batch that causes it.
    guard group.count > 1, results.allSatisfy(\.mayDependOnOneBatch) else { return results }
    var alone: [Result<StoreRevision, any Error>] = []
    for request in group { alone += await tryTogether([request]) }
    return alone
  }

  private func tryTogether(_ group: [CommitRequest]) async -> [Result<StoreRevision, any Error>] {
    var failure: any Error = StorageError.unreachable(store.location, "The commit was thwarted again and again.")
    var hasWaited = false
    for _ in 0..<Self.attempts {
      do {
        let holders = Locked<[LockHolder]>([])
        switch try await hasWaited ? lastAttempt(group, noting: holders) : attempt(group) {
        case .answered(let results): return results
        case .again: continue
        case .notSent(let reason):
          failure = store.error(reason)
          guard case .server(let refusal) = reason, refusal.isLockTimeout else { continue }
          // The head may be locked by a commit on a primary that was cut off: look for another one, once.
          if hasWaited {
            let found = holders.withLock { $0 }
            if !found.isEmpty { failure = StorageError.held(by: found, refusal.sqlState, store.location) }
            return group.map { _ in .failure(failure) }
          }
          hasWaited = true
          database.releaseWriters()
        case .unknown(let unknown):
          switch try await resolve(unknown) {
          case .applied(let head): return unknown.results(head: head)
          case .notApplied: continue
          }
        }
      } catch {
        return group.map { _ in .failure(error) }
      }
    }
    return group.map { _ in .failure(failure) }
  }

  private func attempt(_ group: [CommitRequest]) async throws -> GroupCommit.Outcome {
    try await database.withWriter { await commit.run(group, on: $0) }
  }

  private var commit: GroupCommit {
    GroupCommit(store: store.id, location: store.location, known: store.latestRevision, deadline: store.deadline)
  }

  /// Attempts a commit with what is left of the time for locks, and notes meanwhile which sessions hold one that it
  /// waits for. The commit does not wait for what the search has not found.
  private func lastAttempt(
    _ group: [CommitRequest], noting holders: Locked<[LockHolder]>
  ) async throws -> GroupCommit.Outcome {
    try await database.withWriter { writer in
      var commit = commit
      commit.lockTimeout = max(store.deadline / 10, .milliseconds(100))
      let search = Task {
        let found = try await database.lockHolders(blocking: writer.server.processID)
        holders.withLock { $0 = found }
      }
      defer { search.cancel() }
      return await commit.run(group, on: writer)
    }
  }

  // MARK: Unknown outcomes

  /// Finds out the fate of an attempt, on whichever server is the primary now.
  /// - Throws: `outcomeUnknown` if that does not succeed in time.
  private func resolve(_ unknown: GroupCommit.UnknownAttempt) async throws -> AttemptResolution.Fate {
    let end = ContinuousClock.now + database.configuration.outcomeTimeout
    var reason = "The server did not answer."
    var pause = Duration.milliseconds(20)
    while ContinuousClock.now < end {
      do {
        let left = max(end - ContinuousClock.now, .milliseconds(100))
        let (connection, fate) = try await database.open { [deadline = store.deadline] server throws(ExchangeFailure) in
          try await AttemptResolution.fence(
            unknown.writer, attempt: unknown.attempt, on: server, within: min(deadline, left))
        }
        connection.abandon()
        return fate
      } catch let error as StorageError {
        reason = error.message
        if error.code == .closed || error.code == .permissionDenied { break }
      }
      try? await Task.sleep(for: pause)
      pause = min(pause * 2, .seconds(1))
    }
    throw StorageError.outcomeUnknown(store.location, reason)
  }

  // MARK: Lost histories

  /// Makes the revisions of a history that has lost commits continue beyond those that were announced.
  /// - Parameter lost: the epoch of the lost history, to which others may commit meanwhile.
  func continueRevisions(beyond known: StoreRevision, ending lost: UInt64) async throws {
    let (head, epoch) = try await database.withWriter { connection -> (Int64, Int64) in
      let attempt = connection.attempt.withLock { $0 + 1 }
      let values: [ServerValue] = [
        .int8(store.id), .uuid(connection.writer), .int8(attempt), .int8(0), .int8(Int64(known.rawValue)),
        .int8(Int64.random(in: .min ... .max)), .int8(Int64(bitPattern: lost)),
      ]
      do {
        let answer = try await connection.server.transact(
          [ServerCall(CommitStatements.endEpoch, values)], within: store.deadline)
        guard let rows = answer.rows.last, rows.count == 1 else {
          connection.server.abandon()
          throw StorageError.storeIsGone(store.location)
        }
        connection.attempt.withLock { $0 = attempt }
        return (rows.int8(0, 0), rows.int8(0, 1))
      } catch let failure as ExchangeFailure {
        connection.server.abandon()
        throw store.error(failure)
      }
    }
    store.begin(epoch: UInt64(bitPattern: epoch), at: StoreRevision(head: head))
  }
}

extension Result where Failure == any Error {
  /// Whether the transaction may have failed because of one of its batches.
  fileprivate var mayDependOnOneBatch: Bool {
    guard case .failure(let error as StorageError) = self else { return false }
    return [.valueTooLarge, .diskFull, .inputOutput, .damaged, .keyUnavailable].contains(error.code)
  }
}
