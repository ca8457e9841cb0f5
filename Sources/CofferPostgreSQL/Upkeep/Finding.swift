import CofferCore
import Foundation

/// A value whose checksum does not match, as it was read.
struct Finding: Sendable {
  let key: KeyName
  let revision: StoreRevision
  let checksum: Int64
  let value: Data

  /// What distinguishes a finding from others.
  struct Identity: Hashable, Sendable {
    let key: KeyName
    let revision: StoreRevision
  }

  var identity: Identity { Identity(key: key, revision: revision) }

  /// The identifier of the bytes in the quarantine: the revision and the key in hexadecimal digits.
  var id: String { Self.id(key.data, revision) }

  static func id(_ key: Data, _ revision: StoreRevision) -> String {
    "\(revision)-" + key.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }

  func report(at location: String) -> DamageReport {
    DamageReport(key: key, revision: revision, size: value.count, location: location, quarantineID: id)
  }
}

/// The statements of the quarantine. Each names its store in `$1`.
enum QuarantineStatements {
  static let keep = ServerStatement(
    """
    INSERT INTO coffer.quarantine (store, key, revision, checksum, found_at, value) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT DO NOTHING
    """, [.int8, .bytes, .int8, .int8, .int8, .bytes])
  static let list = ServerStatement(
    """
    SELECT key, revision, found_at, octet_length(value)::bigint FROM coffer.quarantine WHERE store = $1
    ORDER BY found_at, revision, key
    """, [.int8])
  static let bytes = ServerStatement(
    "SELECT value FROM coffer.quarantine WHERE store = $1 AND key = $2 AND revision = $3", [.int8, .bytes, .int8])
  static let remove = ServerStatement(
    "DELETE FROM coffer.quarantine WHERE store = $1 AND key = $2 AND revision = $3", [.int8, .bytes, .int8])
}

extension PostgreSQLStore {
  /// Copies a damaged value to the quarantine.
  func keep(_ finding: Finding) async throws {
    let call = ServerCall(
      QuarantineStatements.keep,
      [
        .int8(id), .bytes(finding.key.data), .int8(Int64(bitPattern: finding.revision.rawValue)),
        .int8(finding.checksum), .int8(clock.now().unixMilliseconds), .bytes(finding.value),
      ])
    try await transact([call])
  }

  /// Runs statements in a transaction that is not journaled.
  func transact(_ calls: [ServerCall]) async throws {
    do {
      try await database.withWriter { writer in _ = try await writer.server.transact(calls, within: deadline) }
    } catch let failure as ExchangeFailure {
      if case .lost(let loss) = failure, loss.mayHaveRun { throw StorageError.unanswered(location, loss.reason) }
      throw error(failure)
    }
  }
}
