import CofferCore

/// The retention policy of the journal, which bounds its growth. Not thread-safe; owned by the committer.
struct JournalRetention {
  /// The maximum total size of the rows' lists of changed keys, in bytes.
  private static let maximumBytes = 64 << 20

  private let commits: Int
  private var trimmedAt = StoreRevision.zero
  /// The bytes written since the total size was last computed, which reads every row.
  private var unweighedBytes = 0

  /// - Parameter commits: The number of rows to keep; at least one is kept.
  init(commits: Int) { self.commits = max(1, commits) }

  /// Records the size of a row that was written.
  mutating func count(bytes: Int) { unweighedBytes += bytes }

  /// Whether trimming is due, which is once per several commits: trimming each row alone would write a page each time.
  mutating func takeDue(at revision: StoreRevision) -> Bool {
    let step = UInt64(max(1, min(1_024, commits / 4)))
    guard revision.rawValue >= trimmedAt.rawValue + step || unweighedBytes > Self.maximumBytes / 8 else { return false }
    trimmedAt = revision
    return revision.rawValue > UInt64(commits) || unweighedBytes > Self.maximumBytes / 8
  }

  /// Deletes the oldest rows beyond the limits. The newest row is always kept: it holds the store's revision.
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
