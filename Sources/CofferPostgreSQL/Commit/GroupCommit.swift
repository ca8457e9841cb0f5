import CofferCore
import Foundation

/// The attempt to commit a group of batches in one transaction.
struct GroupCommit {
  /// What became of an attempt.
  enum Outcome {
    /// The server has answered: the revision of each batch, or the error of one that failed alone.
    case answered([Result<StoreRevision, any Error>])
    /// Nothing was applied, and the connection cannot be used any more.
    case notSent(ExchangeFailure)
    /// Nothing was applied, for a reason that may be gone at the next attempt.
    case again
    /// The connection was lost after `COMMIT` was sent. ``UnknownAttempt/results(head:)`` are valid if it
    /// is found to be applied.
    case unknown(UnknownAttempt)
  }

  /// An attempt whose outcome is unknown.
  struct UnknownAttempt {
    let writer: UUID
    let attempt: Int64
    /// For each request the number of its commit in the transaction, or the error of one that failed alone.
    let results: [Result<Int, any Error>]
    /// The number of commits in the transaction.
    let count: Int

    /// The results of an attempt that was applied, given the head after it.
    func results(head: Int64) -> [Result<StoreRevision, any Error>] {
      GroupCommit.revisions(results, head: head, of: count)
    }
  }

  let store: Int64
  let location: String
  /// The newest revision that this process knows.
  let known: StoreRevision
  /// The time within which the server must answer.
  let deadline: Duration
  /// How long a statement waits for a lock; `nil` for the setting of the session.
  var lockTimeout: Duration?

  private var begin: [ServerCall] {
    [ServerCall(CommitStatements.begin)]
      + (lockTimeout.map { [ServerCall(CommitStatements.lockTimeout, [.milliseconds($0)])] } ?? [])
  }

  /// Commits a group on a connection that nothing else uses meanwhile.
  func run(_ group: [CommitRequest], on connection: WritingConnection) async -> Outcome {
    var calls = begin
    var state: LockedState?
    if group.contains(where: { !$0.requiredRows.isEmpty }) {
      switch await lock(group, on: connection) {
      case .failure(let failure): return await recover(connection, failure, group)
      case .success(let locked): state = locked
      }
      calls = []
    }
    let attempt = connection.attempt.withLock { $0 + 1 }
    let (results, count, writes) = admit(group, state)
    calls.append(advance(connection, attempt, by: count))
    calls += writes
    calls.append(ServerCall(CommitStatements.commit))
    do {
      let answer = try await connection.server.exchange(calls, within: deadline, commits: true)
      guard let head = answer.rows(of: CommitStatements.advance, in: calls), head.count == 1 else {
        return .answered(group.map { _ in .failure(StorageError.storeIsGone(location)) })
      }
      connection.attempt.withLock { $0 = attempt }
      return .answered(Self.revisions(results, head: head.int8(0, 0), of: count))
    } catch .lost(let loss) where loss.mayHaveRun {
      return .unknown(
        UnknownAttempt(writer: connection.writer, attempt: attempt, results: results, count: count))
    } catch {
      return await recover(connection, error, group)
    }
  }

  /// Returns the revision of each request, given the head after the transaction.
  static func revisions(
    _ results: [Result<Int, any Error>], head: Int64, of count: Int
  ) -> [Result<StoreRevision, any Error>] {
    results.map { $0.map { number in StoreRevision(head: head - Int64(count - number)) } }
  }

  private func advance(_ connection: WritingConnection, _ attempt: Int64, by count: Int) -> ServerCall {
    ServerCall(
      CommitStatements.advance,
      [
        .int8(store), .uuid(connection.writer), .int8(attempt), .int8(Int64(count)), .int8(Int64(known.rawValue)),
        .int8(Int64.random(in: .min ... .max)),
      ])
  }

  // MARK: Preconditions

  /// The rows that the preconditions name, read under the lock.
  private struct LockedState {
    let head: StoreRevision
    let rows: [RowName: StoredRow]
  }

  /// Begins the transaction, locks the head and reads the required rows.
  private func lock(
    _ group: [CommitRequest], on connection: WritingConnection
  ) async -> Result<LockedState, ExchangeFailure> {
    var calls = begin + [ServerCall(CommitStatements.lock, [.int8(store)])]
    let names = Set(group.flatMap(\.requiredRows))
    for isRecord in [false, true] {
      let keys = names.filter { $0.isRecord == isRecord }.map(\.key.data)
      guard !keys.isEmpty else { continue }
      calls.append(
        ServerCall(CommitStatements.required, [.int8(store), .bool(isRecord), .bytesArray(keys)]))
    }
    do {
      let answer = try await connection.server.exchange(calls, within: deadline)
      guard let head = answer.rows(of: CommitStatements.lock, in: calls), head.count == 1 else {
        return .failure(.refused(StorageError.storeIsGone(location)))
      }
      var rows: [RowName: StoredRow] = [:]
      for (call, found) in zip(calls, answer.rows) where call.statement == CommitStatements.required {
        for index in 0..<found.count {
          guard let key = KeyName(data: found.data(index, 1)) else { continue }
          rows[RowName(isRecord: found.bool(index, 0), key: key)] = StoredRow(found, index, from: 2)
        }
      }
      let newest = head.int8(0, 0)
      // As the statement `advance` will.
      let isBehind = newest < Int64(known.rawValue)
      return .success(LockedState(head: isBehind ? known.next : StoreRevision(head: newest), rows: rows))
    } catch {
      return .failure(error)
    }
  }

  /// Checks the preconditions of each request against the state before it.
  /// - Parameter state: the state before the group; `nil` without preconditions.
  /// - Returns: for each request the number of its commit in the transaction; the number of commits; the calls that
  ///   write those whose preconditions hold.
  private func admit(
    _ group: [CommitRequest], _ state: LockedState?
  ) -> (results: [Result<Int, any Error>], count: Int, writes: [ServerCall]) {
    var change = GroupChange()
    if group.count == 1, let put = group[0].putAlone(store) {
      if let failure = state.flatMap({ unmet(group[0], $0, change) }) { return ([.failure(failure)], 0, []) }
      return ([.success(1)], 1, [put])
    }
    let results = group.map { request -> Result<Int, any Error> in
      if let failure = state.flatMap({ unmet(request, $0, change) }) { return .failure(failure) }
      // The statement that writes values sees the records as they were before the group.
      if change.marksEncryption, let key = request.operations.firstPlainKey {
        return .failure(StorageError.takesOnlyEnvelopes(key, location: location))
      }
      change.add(request)
      return .success(change.requests.count)
    }
    return (results, change.requests.count, change.requests.isEmpty ? [] : change.calls(store: store))
  }

  /// Returns the error of the first precondition that does not hold.
  private func unmet(_ request: CommitRequest, _ state: LockedState, _ change: GroupChange) -> StorageError? {
    for operation in request.operations {
      let (name, revision): (RowName, StoreRevision?)
      switch operation {
      case .require(let key, let wanted): (name, revision) = (RowName(isRecord: false, key: key), wanted)
      case .requireRecord(let wantedName, let wanted):
        (name, revision) = (RowName(isRecord: true, key: wantedName.key), wanted)
      default: continue
      }
      guard present(name, state, change, request) == revision else {
        return StorageError.preconditionFailed(name.key, location: location)
      }
    }
    return nil
  }

  /// The revision of a row for a request of the group; `nil` if it is absent.
  private func present(
    _ name: RowName, _ state: LockedState, _ change: GroupChange, _ request: CommitRequest
  ) -> StoreRevision? {
    switch change.change(of: name) {
    case .delete: return nil
    case .put(_, let attributes, _, let number):
      if !request.isSweep, attributes.isExpired(at: request.date) { return nil }
      return StoreRevision(state.head.rawValue + UInt64(number) + 1)
    case nil:
      guard let row = state.rows[name] else { return nil }
      // A damaged row is not absent, whatever its attributes say.
      let isExpired = !request.isSweep && row.attributes?.isExpired(at: request.date) == true
      return isExpired && row.isWhole(name, store: store) ? nil : row.revision
    }
  }

  // MARK: Failures

  /// Ends the transaction of an attempt that was not applied.
  private func recover(
    _ connection: WritingConnection, _ failure: ExchangeFailure, _ group: [CommitRequest]
  ) async -> Outcome {
    switch failure {
    case .lost: return .notSent(failure)
    case .refused(let error):
      guard await rollBack(connection) else { return .notSent(failure) }
      return .answered(group.map { _ in .failure(error) })
    case .server(let server):
      guard await rollBack(connection) else { return .notSent(failure) }
      switch server.sqlState {
      case ServerFailure.divisionByZero:
        // The writer is fenced, or its row was removed.
        connection.server.abandon()
        return .notSent(failure)
      case ServerFailure.serializationFailure, ServerFailure.deadlock: return .again
      case ServerFailure.missingValue:
        return await refusal(of: group, connection)
      case _ where server.isLockTimeout:
        connection.server.abandon()
        return .notSent(failure)
      default: return .answered(group.map { _ in .failure(server.error(at: location)) })
      }
    }
  }

  /// The outcome of a group of which a plain value was refused.
  private func refusal(of group: [CommitRequest], _ connection: WritingConnection) async -> Outcome {
    let names = [SystemRecord.Name.onlyEnvelopes, .keyRing].map(\.key.data)
    let call = ServerCall(CommitStatements.required, [.int8(store), .bool(true), .bytesArray(names)])
    let found = try? await connection.server.exchange([call], within: deadline).rows.last?.count
    return .answered(
      group.map { request in
        let key = request.operations.firstPlainKey
        let isEncrypted = found == names.count
        return .failure(
          isEncrypted
            ? StorageError.takesOnlyEnvelopes(key, location: location)
            : StorageError.ringIsLost(location: location, key: key))
      })
  }

  private func rollBack(_ connection: WritingConnection) async -> Bool {
    do {
      _ = try await connection.server.exchange([ServerCall(CommitStatements.rollback)], within: deadline)
      return true
    } catch {
      connection.server.abandon()
      return false
    }
  }
}
