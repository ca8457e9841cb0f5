import CofferCPostgreSQL
import Foundation

/// Calls that are sent together, with the outcomes that have arrived.
// Sendable: `result` and `loss` are used with the lock of the connection, and not after it; the rest is constant.
final class PendingExchange: @unchecked Sendable {
  let calls: [ServerCall]
  let deadline: ContinuousClock.Instant
  private let completion: @Sendable (Result<ExchangeResult, ConnectionLoss>) -> Void
  private var result = ExchangeResult()
  private var loss: ConnectionLoss?

  /// - Parameter completion: called exactly once.
  init(
    _ calls: [ServerCall], deadline: ContinuousClock.Instant,
    completion: @escaping @Sendable (Result<ExchangeResult, ConnectionLoss>) -> Void
  ) {
    (self.calls, self.deadline, self.completion) = (calls, deadline, completion)
  }

  /// The size of all parameters in bytes.
  var size: Int { calls.reduce(0) { $0 + $1.size } }

  var isValid: Bool { calls.allSatisfy(\.isValid) }

  func append(_ outcome: CallOutcome) { result.outcomes.append(outcome) }

  /// Notes a warning; of a flood, the first hundred.
  func warn(_ sqlState: String) {
    if result.warnings.count < 100 { result.warnings.append(sqlState) }
  }

  /// Replaces the outcome of the last call: its effects were undone when the exchange ended.
  func failLast(_ failure: ServerFailure) {
    _ = result.outcomes.popLast()
    result.outcomes.append(.failed(failure))
  }

  func fail(_ loss: ConnectionLoss) { self.loss = loss }

  /// Passes the outcome on. Called once, when nothing changes it any more.
  func complete() { completion(loss.map { .failure($0) } ?? .success(result)) }
}

/// A statement under a name of its connection, used with its lock only.
final class PreparedStatement {
  let name: String
  var failure: ServerFailure?

  init(name: String) { self.name = name }
}

/// What the server is going to send, in order.
enum Expectation {
  case preparation(PreparedStatement)
  /// The end of a preparation, which has a Sync of its own: the failure of an exchange does not undo it.
  case preparationEnd
  case outcome(PendingExchange, PreparedStatement?)
  case end(PendingExchange)
}

extension ServerFailure {
  /// Returns the failure that a result reports; `nil` if it reports none.
  init?(_ result: OpaquePointer) {
    guard pq_resultStatus(result) == PGRES_FATAL_ERROR else { return nil }
    // Without a code, the error is libpq's own.
    self.init(sqlState: pq_resultErrorField(result, coffer_pq_sqlstate).map { String(cString: $0) } ?? "08006")
  }

  /// Whether the server closes the connection after an error or a notice.
  static func endsSession(_ result: OpaquePointer) -> Bool {
    guard let severity = pq_resultErrorField(result, coffer_pq_severity) else { return false }
    return strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0
  }

  /// The server no longer knows a prepared statement.
  static let unknownStatement = "26000"
}
