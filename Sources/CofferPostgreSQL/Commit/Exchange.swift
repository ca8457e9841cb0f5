import CofferCore

/// The reason why an exchange has no answer that counts.
enum ExchangeFailure: Error {
  /// The connection was lost, or did not answer in time.
  case lost(ConnectionLoss)
  /// The server refused a statement.
  case server(ServerFailure)
  /// What the server answered is refused.
  case refused(StorageError)
}

/// The rows of an exchange in which every statement succeeded.
struct ExchangeAnswer {
  let rows: [ServerRows]

  /// The rows of the first call of a statement.
  func rows(of statement: ServerStatement, in calls: [ServerCall]) -> ServerRows? {
    zip(calls, rows).first { $0.0.statement == statement }?.1
  }
}

extension ServerConnection {
  /// Sends calls in one round trip and returns their rows, if all of them succeeded.
  /// - Parameter commits: whether the last call is `COMMIT`, which must be acknowledged without reservation.
  func exchange(
    _ calls: [ServerCall], within: Duration, commits: Bool = false
  ) async throws(ExchangeFailure) -> ExchangeAnswer {
    let result: ExchangeResult
    do { result = try await run(calls, within: within) } catch { throw .lost(error) }
    var rows: [ServerRows] = []
    for outcome in result.outcomes {
      switch outcome {
      case .rows(let found): rows.append(found)
      case .failed(let failure):
        // The server ends the session with these: what it was doing may have been applied.
        if failure.endsSession {
          abandon()
          throw .lost(ConnectionLoss(failure.sentence, mayHaveRun: true))
        }
        throw .server(failure)
      case .skipped: break
      }
    }
    guard commits else { return ExchangeAnswer(rows: rows) }
    // An aborted transaction answers ROLLBACK, and one whose wait for the standbys was cancelled answers COMMIT with a
    // warning in the server's language. Only COMMIT without any warning is an acknowledgement.
    guard rows.count == calls.count, rows.last?.tag == "COMMIT", result.warnings.isEmpty else {
      abandon()
      throw .lost(ConnectionLoss("The server has not confirmed the commit.", mayHaveRun: true))
    }
    return ExchangeAnswer(rows: rows)
  }

  /// Runs calls in a transaction whose commit is confirmed by as many standbys as the server demands.
  @discardableResult
  func transact(_ calls: [ServerCall], within: Duration) async throws(ExchangeFailure) -> ExchangeAnswer {
    let all = [ServerCall(CommitStatements.begin)] + calls + [ServerCall(CommitStatements.commit)]
    do {
      let answer = try await exchange(all, within: within, commits: true)
      return ExchangeAnswer(rows: Array(answer.rows.dropFirst().dropLast()))
    } catch .server(let failure) {
      do { _ = try await exchange([ServerCall(CommitStatements.rollback)], within: within) } catch { abandon() }
      throw .server(failure)
    }
  }
}
