import Dispatch

extension SQLiteEngine {
  private static let readQueue = DispatchQueue(label: "coffer.read", attributes: .concurrent)

  /// Runs a closure in a read transaction, concurrently with the writer and outside Swift's cooperative thread pool.
  package func withReadTransaction<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteDatabase.ReadTransaction) throws -> R
  ) async throws -> R {
    try Task.checkCancellation()
    if isReadOnly {
      return try await Self.readQueue.run { [self] in try read { try $0.transact(body) } }
    }
    return try await openStore().readers.withReader { reader in
      try await Self.readQueue.run { try reader.transact(body) }
    }
  }
}

extension Reader {
  fileprivate func transact<R>(_ body: (SQLiteDatabase.ReadTransaction) throws -> R) throws -> R {
    _ = try beginSnapshot()
    defer { endSnapshot() }
    return try body(SQLiteDatabase.ReadTransaction(statements: statements))
  }
}
