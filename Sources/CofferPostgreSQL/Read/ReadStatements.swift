/// The statements of reads. Each names its store in `$1`, and returns at least one row while the store exists and may
/// be read: a value is absent only if the store is there.
enum ReadStatements {
  /// The columns of a row, without its value.
  static let columns = "v.revision, v.checksum, v.attributes"

  /// Reads rows by their keys: `$2` whether they are records, `$3` their keys.
  static let rows = ServerStatement(
    """
    SELECT s.head, s.epoch, v.key, \(columns), v.value FROM coffer.stores s
    LEFT JOIN coffer.values v ON v.store = s.store AND v.record = $2 AND v.key = ANY($3) WHERE s.store = $1
    """, [.int8, .bool, .bytesArray])

  /// Reads one row by its key, which is cheaper than a list of one.
  static let row = ServerStatement(
    """
    SELECT s.head, s.epoch, \(columns), v.value FROM coffer.stores s
    LEFT JOIN coffer.values v ON v.store = s.store AND v.record = $2 AND v.key = $3 WHERE s.store = $1
    """, [.int8, .bool, .bytes])

  /// Reads the summary of one value.
  static let summary = ServerStatement(
    """
    SELECT s.head, s.epoch, v.key, v.revision, v.attributes, octet_length(v.value)::bigint, j.committed_at
    FROM coffer.stores s
    LEFT JOIN coffer.values v ON v.store = s.store AND NOT v.record AND v.key = $2
    LEFT JOIN coffer.journal j ON j.store = v.store AND j.revision = v.revision
    WHERE s.store = $1
    """, [.int8, .bytes])

  static let head = ServerStatement("SELECT head, epoch FROM coffer.stores WHERE store = $1", [.int8])

  static let beginSnapshot = ServerStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

  /// Lets a snapshot be used as slowly as its user likes: it locks no rows.
  static let mayIdle = ServerStatement("SELECT set_config('idle_in_transaction_session_timeout', '0', true)")

  /// Reads a page: keys after `$2` (or from it, if `$3`) and below `$4`, at most `$5` rows.
  ///
  /// The sum of the sizes of the values before a row bounds the page, so that large values make short pages.
  static let page = ServerStatement(
    """
    SELECT p.key, p.revision, p.checksum, p.attributes, p.value FROM (
      SELECT v.key, v.revision, v.checksum, v.attributes, v.value,
        sum(octet_length(v.value)) OVER (ORDER BY v.key ROWS UNBOUNDED PRECEDING) - octet_length(v.value) AS before
      FROM (
        SELECT * FROM coffer.values WHERE store = $1 AND NOT record AND key >= $2 AND (key > $2 OR $3)
          AND ($4::bytea IS NULL OR key < $4) ORDER BY key LIMIT $5) v) p
    WHERE p.before < \(pageSize) ORDER BY p.key
    """, [.int8, .bytes, .bool, .bytes, .int8])

  /// The size of values, in bytes, after which a page ends.
  static let pageSize = 8 << 20

  /// Reads a page of summaries, selected as ``page`` selects rows.
  static let summaries = ServerStatement(
    """
    SELECT v.key, v.revision, v.attributes, octet_length(v.value)::bigint, j.committed_at FROM (
      SELECT * FROM coffer.values WHERE store = $1 AND NOT record AND key >= $2 AND (key > $2 OR $3)
        AND ($4::bytea IS NULL OR key < $4) ORDER BY key LIMIT $5) v
    LEFT JOIN coffer.journal j ON j.store = v.store AND j.revision = v.revision ORDER BY v.key
    """, [.int8, .bytes, .bool, .bytes, .int8])

  /// Reads the commits after a revision.
  static let journal = ServerStatement(
    """
    SELECT revision, epoch, transaction, origin, committed_at, changed, checksum FROM coffer.journal
    WHERE store = $1 AND revision > $2 ORDER BY revision LIMIT $3
    """, [.int8, .int8, .int8])
}
