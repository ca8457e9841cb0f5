import CofferCore

/// How the journal is kept from growing without bound.
enum JournalRetention {
  /// What the rows' lists of changed keys may weigh together.
  private static let maximumBytes = 64 << 20

  /// Deletes the oldest rows beyond `commits` and beyond 64 MiB. The newest row always stays: it is the revision.
  static func trim(_ connection: Connection, newest: Revision, commits: Int) throws {
    let byCount = Int64(newest.rawValue) - Int64(commits)
    let bySize = try connection.number(
      """
      SELECT max(revision) FROM (
        SELECT revision, sum(length(changed)) OVER (ORDER BY revision DESC) AS total FROM coffer_journal
      ) WHERE total > \(maximumBytes)
      """)
    let oldest = min(max(byCount, bySize ?? 0), Int64(newest.rawValue) - 1)
    try connection.execute("DELETE FROM coffer_journal WHERE revision <= \(oldest)")
  }
}
