import CofferCore
import Foundation

/// One state of a store: a transaction at the isolation level `REPEATABLE READ`, on a connection of its own.
final class PostgreSQLSnapshot: StorageSnapshot {
  let revision: StoreRevision
  let epoch: UInt64
  private let store: PostgreSQLStore
  /// The connection; `nil` once the snapshot has ended.
  private let connection: Locked<ServerConnection?>

  /// Takes a snapshot of the present state.
  init(of store: PostgreSQLStore, on connection: ServerConnection) async throws {
    let calls = [
      ServerCall(ReadStatements.beginSnapshot), ServerCall(ReadStatements.mayIdle),
      ServerCall(ReadStatements.head, [.int8(store.id)]),
    ]
    do {
      let answer = try await connection.exchange(calls, within: store.deadline)
      guard let head = answer.rows.last, head.count == 1 else { throw StorageError.storeIsGone(store.location) }
      revision = StoreRevision(head: head.int8(0, 0))
      epoch = UInt64(bitPattern: head.int8(0, 1))
    } catch {
      connection.abandon()  // Its transaction may be open.
      throw (error as? ExchangeFailure).map(store.error) ?? error
    }
    self.store = store
    self.connection = Locked(connection)
  }

  /// Ends the snapshot. The connection can be used again, unless this abandons it.
  func end() async {
    let ended = connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
    guard let ended else { return }
    do {
      _ = try await ended.exchange([ServerCall(CommitStatements.rollback)], within: store.deadline)
    } catch {
      ended.abandon()
    }
  }

  private func read(_ call: ServerCall) async throws -> ServerRows {
    guard let connection = connection.withLock({ $0 }) else { throw StorageError.snapshotEnded(store.location) }
    do {
      let answer = try await connection.exchange([call], within: store.deadline)
      guard let rows = answer.rows.first else { throw StorageError.storeIsGone(store.location) }
      return rows
    } catch let failure as ExchangeFailure {
      throw store.error(failure)
    }
  }

  func entries(_ keys: [KeyName]) async throws -> [StoreEntry?] {
    guard !keys.isEmpty else { return [] }
    let rows = try await read(ServerCall(ReadStatements.rows, store.rows(keys)))
    return try store.entries(keys, from: rows)
  }

  func summary(of key: KeyName) async throws -> StoreEntry.Summary? {
    let rows = try await read(ServerCall(ReadStatements.summary, [.int8(store.id), .bytes(key.data)]))
    guard rows.count > 0 else { throw StorageError.storeIsGone(store.location) }
    return store.summary(of: key, from: rows)
  }

  func page(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry] {
    guard limit > 0 else { return [] }
    let rows = try await read(ServerCall(ReadStatements.page, store.range(prefix, after, limit)))
    return try (0..<rows.count).map { index in
      let key = try store.key(rows.data(index, 0))
      return try store.entry(key, StoredRow(rows, index, from: 1))
    }
  }

  func summaries(prefix: KeyName?, after: KeyName?, limit: Int) async throws -> [StoreEntry.Summary] {
    guard limit > 0 else { return [] }
    let rows = try await read(ServerCall(ReadStatements.summaries, store.range(prefix, after, limit)))
    return try (0..<rows.count).map { index in
      try store.summary(store.key(rows.data(index, 0)), rows, index, from: 1)
    }
  }
}

extension PostgreSQLStore {
  /// Takes a snapshot of the present state.
  func snapshot(on connection: ServerConnection) async throws -> PostgreSQLSnapshot {
    while true {
      let known = latestPosition
      let snapshot = try await PostgreSQLSnapshot(of: self, on: connection)
      do {
        if try await agree(head: snapshot.revision, epoch: snapshot.epoch, knownBefore: known) { return snapshot }
      } catch {
        await snapshot.end()
        throw error
      }
      await snapshot.end()
      try Task.checkCancellation()
    }
  }
}
