package import CofferCore
import Foundation

/// An application's own tables in the file of a store: they share the writer, so a transaction can change tables and
/// keys together, and one journal tells of both.
///
/// Table names that begin with `coffer_` are the store's.
package final class SQLiteDatabase: Sendable {
  /// The store in the same file.
  package let engine: SQLiteEngine
  package let origin: Origin
  private let queue = DispatchQueue(label: "coffer.read", attributes: .concurrent)

  package init(engine: SQLiteEngine, origin: Origin = Origin()) {
    self.engine = engine
    self.origin = origin
  }

  /// Runs `body` in one transaction on the writer's thread. If it throws, nothing has happened.
  ///
  /// A transaction that changed anything is one commit in the journal; its selection names the keys.
  package func write<R: Sendable>(
    durability: Durability = .full, transaction: TransactionID? = nil,
    _ body: @escaping @Sendable (SQLiteTransaction) throws -> R
  ) async throws -> R {
    let header = TransactionHeader(origin: origin, transaction: transaction, durability: durability)
    return try await engine.openStore().writer.transact(header, body)
  }

  /// Runs `body` on one state of the database, beside the writer and off the threads that tasks share.
  package func read<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteReadTransaction) throws -> R
  ) async throws -> R {
    try Task.checkCancellation()
    if engine.readOnlyStore != nil {
      return try await onQueue { [engine] in try engine.read { try Self.read($0, body) } }
    }
    return try await engine.openStore().readers.withReader { reader in
      try await onQueue { try Self.read(reader, body) }
    }
  }

  private static func read<R>(_ reader: Reader, _ body: (SQLiteReadTransaction) throws -> R) throws -> R {
    _ = try reader.beginSnapshot()
    defer { reader.endSnapshot() }
    return try body(SQLiteReadTransaction(statements: reader.statements))
  }

  private func onQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Applies the migrations that this file has not seen, in order, each in a transaction of its own.
  ///
  /// - Throws: What the failing step throws; the steps before it stay applied, the failing one has left nothing.
  ///   `newerFormat` when the file has seen a step that is not in the list: a newer application wrote it.
  package func migrate(_ migrations: [SQLiteMigration]) async throws {
    let names = migrations.map(\.name)
    for migration in migrations {
      try await write { [backend = engine.description] transaction in
        let applied = try transaction.query("SELECT name FROM coffer_migrations ORDER BY position") { $0.text(0) }
        if let unknown = applied.first(where: { !names.contains($0) }) {
          throw StorageError(
            .newerFormat, "The database has the migration '\(unknown)', which this application does not know.",
            advice: "Update the application. Nothing was changed.", backend: backend)
        }
        guard !applied.contains(migration.name) else { return }
        try migration.apply(transaction)
        try transaction.execute(
          "INSERT INTO coffer_migrations (name, position) VALUES (?1, ?2)",
          [.text(migration.name), .integer(Int64(applied.count))])
      }
    }
  }
}

/// One step of an application's schema. Never change or rename a released one.
package struct SQLiteMigration: Sendable {
  package let name: String
  package let apply: @Sendable (SQLiteTransaction) throws -> Void

  package init(_ name: String, _ apply: @escaping @Sendable (SQLiteTransaction) throws -> Void) {
    self.name = name
    self.apply = apply
  }
}
