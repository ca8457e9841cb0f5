import CofferCore

/// Keeps the journal from growing without bound. Not thread-safe; the committer owns it.
struct JournalRetention {
  /// What the rows' lists of changed keys may weigh together.
  private static let maximumBytes = 64 << 20

  private let commits: Int
  private var trimmedAt = StoreRevision.zero
  /// What has been written since the rows were last weighed: weighing reads them all.
  private var unweighedBytes = 0

  /// - Parameter commits: how many rows stay.
  init(commits: Int) { self.commits = max(1, commits) }

  /// Notes a row that was written.
  mutating func count(bytes: Int) { unweighedBytes += bytes }

  /// Whether it is time to trim. Only once per some commits: taking them one by one would cost a page each.
  mutating func takeDue(at revision: StoreRevision) -> Bool {
    let step = UInt64(max(1, min(1_024, commits / 4)))
    guard revision.rawValue >= trimmedAt.rawValue + step || unweighedBytes > Self.maximumBytes / 8 else { return false }
    trimmedAt = revision
    return revision.rawValue > UInt64(commits) || unweighedBytes > Self.maximumBytes / 8
  }

  /// Deletes the oldest rows beyond the limits. The newest row always stays: it is the store's revision.
  mutating func trim(_ connection: Connection, newest: StoreRevision) throws {
    var oldest = Int64(newest.rawValue) - Int64(commits)
    if unweighedBytes > Self.maximumBytes / 8 {
      oldest = max(oldest, try Self.newestBeyondMaximum(connection))
      unweighedBytes = 0
    }
    oldest = min(oldest, Int64(newest.rawValue) - 1)
    try connection.execute("DELETE FROM coffer_journal WHERE revision <= \(oldest)")
  }

  private static func newestBeyondMaximum(_ connection: Connection) throws -> Int64 {
    try connection.number(
      """
      SELECT max(revision) FROM (
        SELECT revision, sum(length(changed)) OVER (ORDER BY revision DESC) AS total FROM coffer_journal
      ) WHERE total > \(maximumBytes)
      """) ?? 0
  }
}
