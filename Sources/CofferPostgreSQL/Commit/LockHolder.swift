import CofferCore

/// A session that holds a lock.
struct LockHolder: Hashable, Sendable {
  let processID: Int64
  let user: String
  let application: String

  /// The session as a noun phrase.
  fileprivate var phrase: String {
    let name = application.isEmpty ? "" : ", application '\(application.escapingControlCharacters)'"
    return "process \(processID) of the role '\(user.escapingControlCharacters)'\(name)"
  }
}

extension StorageError {
  /// The error of a commit that waited too long for a lock of other sessions.
  static func held(by holders: [LockHolder], _ sqlState: String, _ location: String) -> StorageError {
    StorageError(
      .busy,
      "Another session held a lock of the store for too long: \(holders.map(\.phrase).joined(separator: "; ")) "
        + "(SQLSTATE \(sqlState)).",
      advice: "Nothing was written. Try again once its transaction has ended. A session of this library waits for the "
        + "standbys of the server.", location: location)
  }
}

extension PostgreSQLDatabase {
  private static let holders = ServerStatement(
    """
    SELECT a.pid::bigint, a.usename::text, a.application_name FROM pg_stat_activity a
    WHERE a.pid = ANY(pg_blocking_pids($1::integer)) ORDER BY a.pid LIMIT 3
    """, [.int8])

  /// Waits until a session waits for locks, and returns the sessions that hold them. Ends when the task is cancelled.
  func lockHolders(blocking process: Int32) async throws -> [LockHolder] {
    while true {
      let rows = try await read(ServerCall(Self.holders, [.int8(Int64(process))]))
      guard rows.count == 0 else {
        return (0..<rows.count).map {
          LockHolder(processID: rows.int8($0, 0), user: rows.text($0, 1), application: rows.text($0, 2))
        }
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
