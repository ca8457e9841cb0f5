/// An error that the server has reported.
///
/// It holds nothing of the server's text, which may contain values.
struct ServerFailure: Error, Hashable, Sendable {
  /// The code of the error, five characters: appendix "PostgreSQL Error Codes" of its manual.
  let sqlState: String
}

/// The end of a connection.
struct ConnectionLoss: Error, Hashable, Sendable {
  enum Cause: Hashable, Sendable {
    /// The server, or something in between, closed the connection.
    case closedByPeer
    /// The server did not answer in time.
    case deadline
    /// This process closed or abandoned the connection.
    case abandoned
    /// Something between this process and the server has changed the server process that answers.
    case pooler
    /// What arrived is no answer to what was sent.
    case protocolViolation
    /// The parameters of a call are not as many as its statement has, or larger than the protocol can express. Nothing
    /// was sent, and the connection is not affected.
    case invalidCall
  }

  let cause: Cause
  /// The reason, in a sentence for people.
  let reason: String
  /// Whether anything of the exchange was handed to the system, so that the server may have executed it.
  var mayHaveRun: Bool
  /// The code with which the server ended the session, if it gave one.
  var sqlState: String?

  init(_ cause: Cause, _ reason: String, mayHaveRun: Bool, sqlState: String? = nil) {
    (self.cause, self.reason, self.mayHaveRun, self.sqlState) = (cause, reason, mayHaveRun, sqlState)
  }

  /// A loss for the given reason only, for callers that end a connection themselves.
  init(_ reason: String, mayHaveRun: Bool) { self.init(.abandoned, reason, mayHaveRun: mayHaveRun) }
}

/// The outcome of one call of an exchange.
enum CallOutcome: Sendable {
  case rows(ServerRows)
  case failed(ServerFailure)
  /// Not executed, since an earlier call of the exchange has failed.
  case skipped
}

/// The outcome of an exchange.
struct ExchangeResult: Sendable {
  /// The outcome of each call, in order.
  var outcomes: [CallOutcome] = []
  /// The codes of the warnings that arrived with them.
  var warnings: [String] = []
}

/// A server from its start, or from its recovery after a crash, to its end.
struct ServerInstance: Hashable, Sendable {
  let host: String
  let port: Int
  /// When the server was started, in microseconds since 1970.
  let started: Int64
  /// When the server last discarded its statistics, in microseconds since 1970. After the crash of one of its processes
  /// a server recovers without a new start, which only this time shows.
  let recovered: Int64
  /// The identifier of the cluster of databases, if the role may read it.
  let system: Int64?
  /// The number of the history of its write-ahead log, in eight hexadecimal digits, if the role may read it. The
  /// promotion of a standby begins a higher one.
  let timeline: String?
}
