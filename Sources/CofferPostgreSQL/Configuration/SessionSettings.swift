/// The settings of a session.
struct SessionSettings: Sendable {
  /// How long a statement waits for a lock; `nil` for the server's setting.
  var lockTimeout: Duration?
  /// How long a statement may take; `nil` for the server's setting.
  var statementTimeout: Duration?
  /// How long a transaction may wait for its next statement; `nil` for the server's setting. It ends the transactions
  /// of processes that were stopped, and the locks that they hold.
  var idleInTransactionTimeout: Duration?

  init() {}

  init(_ configuration: PostgreSQLConfiguration) {
    // The server says that a lock is held before this process would give the connection up.
    lockTimeout = configuration.answerTimeout * 9 / 10
    idleInTransactionTimeout = configuration.answerTimeout + .seconds(5)
  }
}
