import CofferCore
import Foundation

/// What opening a store has found out.
struct OpenedStore: Sendable {
  let id: Int64
  let name: String
  let location: String
  let head: StoreRevision
  let epoch: UInt64
  /// The newest revision of the journal, which is never beyond the head.
  let newestCommit: StoreRevision
  let newestTransaction: TransactionID?
  let hasExpiries: Bool
  let isReadOnly: Bool
  let features: StoreCapabilities.Features
}

/// Opens a store of a database, and creates what is missing.
struct StoreOpening {
  let database: PostgreSQLDatabase
  let target: ConnectionTarget

  private var location: String { target.description }
  private var configuration: PostgreSQLEngine.Configuration { database.configuration }

  private static let find = ServerStatement(
    """
    SELECT s.store, s.head, s.epoch,
      coalesce(j.revision, 0),
      EXISTS (SELECT FROM coffer.values v WHERE v.store = s.store AND v.expires IS NOT NULL),
      has_table_privilege('coffer.values', 'INSERT') AND (
        EXISTS (SELECT FROM coffer.members m WHERE m.role = current_user AND m.may_write AND m.store IN (0, s.store))
        OR (SELECT r.rolsuper OR r.rolbypassrls FROM pg_roles r WHERE r.rolname = current_user)),
      current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean, j.transaction
    FROM coffer.stores s LEFT JOIN LATERAL (
      SELECT revision, transaction FROM coffer.journal WHERE store = s.store ORDER BY revision DESC LIMIT 1) j ON true
    WHERE s.name = $1
    """, [.text])

  private static let create = ServerStatement(
    "INSERT INTO coffer.stores (store, name, epoch) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
    [.int8, .text, .int8])

  /// Opens the store, and creates it and the tables if they are missing and may be created.
  ///
  /// What an unconfirmed server says about a store that may be written is read again once it has confirmed a commit: a
  /// primary that was cut off may lack the store, or the right to write it. Nothing is created on it.
  func open() async throws -> OpenedStore {
    if configuration.access == .readWrite { database.demandConfirmation() }
    var connection = try await database.open()
    defer { connection.abandon() }
    do {
      while true {
        let isConfirmed = database.isConfirmed(connection)
        let mayWrite = configuration.access != .readOnly && !connection.isReadOnly
        do {
          let mayCreate = configuration.createsIfMissing && mayWrite && isConfirmed
          let store = try await open(on: connection, mayCreate: mayCreate)
          if store.isReadOnly || isConfirmed { return store }
        } catch let error as StorageError where error.code == .notFound && mayWrite && !isConfirmed {
        } catch ExchangeFailure.server(let failure)
          where failure.sqlState == ServerFailure.noPermission && mayWrite && !isConfirmed
        {}
        if await database.confirm(connection) { continue }
        connection.abandon()
        connection = try await database.open()
      }
    } catch let failure as ExchangeFailure {
      throw database.error(failure, at: location)
    }
  }

  private func open(on connection: ServerConnection, mayCreate: Bool) async throws -> OpenedStore {
    try await Schema(location: location).prepare(connection, mayCreate: mayCreate, within: database.deadline)
    if let store = try await find(on: connection) { return store }
    guard mayCreate else { throw StorageError.storeIsGone(location) }
    // The store 0 stands for all.
    let values: [ServerValue] = [
      .int8(Int64.random(in: 1 ... .max)), .text(target.store), .int8(Int64.random(in: .min ... .max)),
    ]
    try await connection.transact([ServerCall(Self.create, values)], within: database.deadline)
    guard let store = try await find(on: connection) else { throw StorageError.storeIsGone(location) }
    return store
  }

  private func find(on connection: ServerConnection) async throws -> OpenedStore? {
    let answer = try await connection.exchange(
      [ServerCall(Self.find, [.text(target.store)])], within: database.deadline)
    guard let rows = answer.rows.first, rows.count == 1 else { return nil }
    let isReadOnly = !rows.bool(0, 5) || configuration.access == .readOnly || connection.isReadOnly
    if isReadOnly, configuration.access == .readWrite {
      throw StorageError.mayOnlyRead(location)
    }
    var features = PostgreSQLEngine.features
    if !rows.bool(0, 6) { features.remove(.powerLossSafety) }
    if isReadOnly { features.subtract(.promisedByWriters) }
    return OpenedStore(
      id: rows.int8(0, 0), name: target.store, location: location, head: StoreRevision(head: rows.int8(0, 1)),
      epoch: UInt64(bitPattern: rows.int8(0, 2)), newestCommit: StoreRevision(head: rows.int8(0, 3)),
      newestTransaction: UUID(data: rows.data(0, 7)),
      hasExpiries: rows.bool(0, 4), isReadOnly: isReadOnly, features: features)
  }
}

extension PostgreSQLStore {
  /// Lets the revisions continue beyond the journal if the head is behind it, which only damage can cause.
  func agreeWithJournal(_ opened: OpenedStore) async throws {
    guard opened.newestCommit > opened.head else { return }
    feed.advance(to: opened.newestCommit)
    guard !isReadOnly else { return }
    try await StoreCommitter(store: self).continueRevisions(beyond: latestRevision, ending: opened.epoch)
  }
}

extension PostgreSQLEngine {
  /// What the engine promises. Whether commits survive power loss depends on the settings of the server.
  static let features: StoreCapabilities.Features = [
    .attributes, .systemRecords, .atomicBatches, .preconditions, .snapshots, .listing, .persistence, .replay,
    .foreignWriters, .powerLossSafety, .revisions,
  ]
}
