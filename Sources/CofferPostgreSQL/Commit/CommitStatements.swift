import CofferCore
import Foundation

/// The statements of a commit. Each names its store in `$1`.
///
/// The first one locks the head, ``advance`` or, with preconditions, ``lock``: a statement reads the state as of its
/// own beginning, so one that waited for the lock would read a state older than the lock. Only the row that it has
/// waited for is read again.
enum CommitStatements {
  static let begin = ServerStatement("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
  static let commit = ServerStatement("COMMIT")
  static let lockTimeout = ServerStatement("SELECT set_config('lock_timeout', $1, true)", [.text])
  static let rollback = ServerStatement("ROLLBACK")

  /// Locks the head of a store until the end of the transaction.
  static let lock = ServerStatement("SELECT head, epoch FROM coffer.stores WHERE store = $1 FOR NO KEY UPDATE", [.int8])

  /// Advances the head of a store by `$4`, and the attempt of the connection to `$3`.
  ///
  /// A head below `$5`, the newest revision that this process knows, belongs to a history that has lost commits. Then
  /// the revisions continue beyond those that were announced, after a hole by which subscribers notice it, under the
  /// new epoch `$6`.
  ///
  /// It returns no row without the store. It fails with a division by zero unless the attempt is the writer's next one:
  /// the writer is fenced, and nothing of the transaction may be committed.
  static let advance = ServerStatement(advancing(ifLost: "head < $5"), [.int8, .uuid, .int8, .int8, .int8, .int8])

  /// Does the same, and ends the epoch `$7`, whatever head commits to the lost history have reached meanwhile.
  static let endEpoch = ServerStatement(
    advancing(ifLost: "head < $5 OR epoch = $7"), [.int8, .uuid, .int8, .int8, .int8, .int8, .int8])

  private static func advancing(ifLost isLost: String) -> String {
    """
    WITH head AS (
      UPDATE coffer.stores SET head = CASE WHEN \(isLost) THEN greatest(head, $5) + 1 ELSE head END + $4,
        epoch = CASE WHEN \(isLost) THEN $6 ELSE epoch END
      WHERE store = $1 RETURNING head, epoch),
    attempt AS (
      UPDATE coffer.writers w SET attempt = $3, revision = head.head, seen_at = now() FROM head
      WHERE w.writer = $2 AND w.attempt = $3 - 1 AND NOT w.is_fenced RETURNING 1)
    SELECT head.head, head.epoch, 1 / (SELECT count(*) FROM attempt) FROM head
    """
  }

  /// Reads the rows that preconditions name: `$2` whether they are records, `$3` their keys.
  static let required = ServerStatement(
    """
    SELECT v.record, v.key, \(ReadStatements.columns), CASE WHEN v.attributes IS NOT NULL THEN v.value END
    FROM coffer.values v WHERE v.store = $1 AND v.record = $2 AND v.key = ANY($3)
    """, [.int8, .bool, .bytesArray])

  static let clearAll = ServerStatement("DELETE FROM coffer.values WHERE store = $1 AND NOT record", [.int8])
  static let clearRange = ServerStatement(
    "DELETE FROM coffer.values WHERE store = $1 AND NOT record AND key >= $2 AND key < $3", [.int8, .bytes, .bytes])
  static let delete = ServerStatement(
    "DELETE FROM coffer.values WHERE store = $1 AND record = $2 AND key = ANY($3)", [.int8, .bool, .bytesArray])

  /// The value `value`, or none where it does not begin like an envelope and all values of the store are encrypted.
  private static func permitted(_ value: String) -> String {
    """
    CASE WHEN substr(\(value), 1, 5) <> '\\xff43454e56'
        AND EXISTS \(record(.onlyEnvelopes)) AND EXISTS \(record(.keyRing))
      THEN NULL ELSE \(value) END
    """
  }

  private static func record(_ name: SystemRecord.Name) -> String {
    "(SELECT FROM coffer.values WHERE store = $1 AND record AND key = '\(name)')"
  }

  /// Replaces what a row has by what is written.
  ///
  /// It fails with a missing value instead of replacing an envelope (attribute 4, after those with lower codes) with
  /// bytes that do not begin like one, in a store without a key ring.
  private static let replacing = """
    ON CONFLICT (store, record, key) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum,
      expires = excluded.expires, attributes = excluded.attributes, value = CASE
        WHEN v.attributes IS NOT NULL AND substr(excluded.value, 1, 5) <> '\\xff43454e56'
          AND encode(v.attributes, 'hex') ~ '^(01.{6})?(02.{6})?(03.{20})?04'
          AND NOT EXISTS \(record(.keyRing))
        THEN NULL ELSE excluded.value END
    """

  /// Writes the only value of a commit and its entry in the journal.
  static let putAlone = ServerStatement(
    """
    WITH s AS (SELECT head, epoch FROM coffer.stores WHERE store = $1),
    put AS (
      INSERT INTO coffer.values AS v (store, record, key, revision, checksum, expires, attributes, value)
      SELECT $1, false, $2, s.head, \(RowChecksum.bound("$3", to: "s.head")), $4, $5,
        \(permitted("$6")) FROM s
      \(replacing))
    INSERT INTO coffer.journal (store, revision, epoch, transaction, origin, committed_at, changed, checksum)
    SELECT $1, s.head, s.epoch, $7, $8, $9, $10,
      \(RowChecksum.bound(RowChecksum.bound("$11", to: "s.head"), to: "s.epoch")) FROM s
    """, [.int8, .bytes, .int8, .int8, .bytes, .bytes, .bytes, .bytes, .int8, .bytes, .int8])

  /// Writes rows. The revision of each is the head less its number from the end, in `back`.
  static let put = ServerStatement(
    """
    INSERT INTO coffer.values AS v (store, record, key, revision, checksum, expires, attributes, value)
    SELECT s.store, $2, u.key, s.head - u.back, \(RowChecksum.bound("u.checksum", to: "(s.head - u.back)")),
      u.expires, u.attributes, CASE WHEN $2 THEN u.value ELSE \(permitted("u.value")) END
    FROM coffer.stores s, unnest($3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bytea[])
      AS u (key, back, checksum, expires, attributes, value)
    WHERE s.store = $1
    \(replacing)
    """, [.int8, .bool, .bytesArray, .int8Array, .int8Array, .int8Array, .bytesArray, .bytesArray])

  static let journal = ServerStatement(
    """
    INSERT INTO coffer.journal (store, revision, epoch, transaction, origin, committed_at, changed, checksum)
    SELECT s.store, s.head - u.back, s.epoch, u.transaction, u.origin, u.committed_at, u.changed,
      \(RowChecksum.bound(RowChecksum.bound("u.checksum", to: "(s.head - u.back)"), to: "s.epoch"))
    FROM coffer.stores s,
      unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bytea[], $7::bigint[])
      AS u (back, transaction, origin, committed_at, changed, checksum)
    WHERE s.store = $1
    """, [.int8, .int8Array, .bytesArray, .bytesArray, .int8Array, .bytesArray, .int8Array])
}

extension GroupChange {
  /// The size of values, in bytes, that one statement writes at most: a parameter has less than 1 GB.
  private static let statementSize = 64 << 20

  /// The statements that write the rows and the journal, after the head was advanced.
  func calls(store: Int64) -> [ServerCall] {
    clears.map { clear($0, store) } + deletions(store) + puts(store) + [journal(store)]
  }

  private func clear(_ prefix: KeyName?, _ store: Int64) -> ServerCall {
    guard let prefix else { return ServerCall(CommitStatements.clearAll, [.int8(store)]) }
    return ServerCall(
      CommitStatements.clearRange, [.int8(store), .bytes(prefix.data), .bytes(Data(prefix.successor))])
  }

  private func deletions(_ store: Int64) -> [ServerCall] {
    [false, true].compactMap { isRecord in
      let keys = rows.compactMap { name, change in
        if case .delete = change, name.isRecord == isRecord { name.key.data } else { nil }
      }
      guard !keys.isEmpty else { return nil }
      return ServerCall(CommitStatements.delete, [.int8(store), .bool(isRecord), .bytesArray(keys)])
    }
  }

  private func puts(_ store: Int64) -> [ServerCall] {
    [false, true].flatMap { isRecord in
      let written = rows.compactMap { name, change in
        name.isRecord == isRecord ? PutRow(name.key, change, ofCommits: requests.count) : nil
      }
      // In the order of the keys: transactions that lock rows in one order do not block each other in a circle, and the
      // index is read in its order. Numbers are sorted, since a row is copied whenever it is moved.
      let order = written.indices.sorted { written[$0].key < written[$1].key }
      var (calls, chunk, size) = ([ServerCall](), [PutRow](), 0)
      for index in order {
        let row = written[index]
        chunk.append(row)
        size += row.key.size + (row.attributes?.count ?? 0) + row.value.count
        guard size > Self.statementSize else { continue }
        calls.append(put(chunk, store, isRecord))
        (chunk, size) = ([], 0)
      }
      return chunk.isEmpty ? calls : calls + [put(chunk, store, isRecord)]
    }
  }

  private func put(_ rows: [PutRow], _ store: Int64, _ isRecord: Bool) -> ServerCall {
    ServerCall(
      CommitStatements.put,
      [
        .int8(store), .bool(isRecord), .bytesArray(rows.map(\.key.data)), .int8Array(rows.map(\.back)),
        .int8Array(rows.map(\.checksum)), .int8Array(rows.map(\.expires)), .bytesArray(rows.map(\.attributes)),
        .bytesArray(rows.map(\.value)),
      ])
  }

  private func journal(_ store: Int64) -> ServerCall {
    ServerCall(
      CommitStatements.journal,
      [
        .int8(store), .int8Array(requests.indices.map { Int64(requests.count - 1 - $0) }),
        .bytesArray(requests.map(\.transaction.data)), .bytesArray(requests.map(\.origin.handle.data)),
        .int8Array(requests.map(\.date.unixMilliseconds)), .bytesArray(requests.map(\.encodedChange)),
        .int8Array(requests.map(\.journalChecksum)),
      ])
  }
}

extension CommitRequest {
  /// The call that writes the batch and its entry in the journal, if it changes one value only, by a put.
  func putAlone(_ store: Int64) -> ServerCall? {
    guard let (key, value, attributes, checksum) = onlyPut else { return nil }
    let expiry: ServerValue = attributes.expires.map { .int8($0.unixMilliseconds) } ?? .null
    let encoded: ServerValue = attributes.isEmpty ? .null : .bytes(Data(attributes.encoded))
    return ServerCall(
      CommitStatements.putAlone,
      [
        .int8(store), .bytes(key.data), .int8(checksum), expiry, encoded, .bytes(value),
        .bytes(transaction.data), .bytes(origin.handle.data), .int8(date.unixMilliseconds), .bytes(encodedChange),
        .int8(journalChecksum),
      ])
  }
}

/// A row that is written with others.
private struct PutRow {
  let key: KeyName
  let back, checksum: Int64
  let expires: Int64?
  let attributes: Data?
  let value: Data

  /// - Returns: `nil` for a deletion.
  init?(_ key: KeyName, _ change: GroupChange.RowChange, ofCommits count: Int) {
    guard case .put(let value, let attributes, let checksum, let number) = change else { return nil }
    self.key = key
    back = Int64(count - 1 - number)
    self.checksum = checksum
    expires = attributes.isEmpty ? nil : attributes.expires?.unixMilliseconds
    self.attributes = attributes.isEmpty ? nil : Data(attributes.encoded)
    self.value = value
  }
}

extension KeyName {
  /// The bytes of the key, as rows keep them.
  var data: Data { withBytes { Data($0) } }

  /// Creates a key of the bytes of a row; `nil` for damaged ones.
  init?(data: Data) {
    guard let text = String(validating: data, as: UTF8.self), let key = try? KeyName(text) else { return nil }
    self = key
  }
}

extension UUID {
  /// The 16 bytes of the identifier.
  var data: Data { withUnsafeBytes(of: uuid) { Data($0) } }

  /// Creates an identifier of its 16 bytes; `nil` for any other number of bytes.
  init?(data: Data) {
    guard data.count == 16 else { return nil }
    self.init(uuid: data.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
  }
}
