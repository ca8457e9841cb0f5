import Coffer

extension StorageEngine {
  /// What SQLite finds wrong with the pages of the file, in its words; `nil` for a store that is none of SQLite's.
  ///
  /// It reads the whole file once more, beside the writer. It finds what no reading of values can: a page that two
  /// tables claim, a journal or an application's table that is torn.
  func structuralDamage() async throws -> [String]? {
    guard let engine = self as? SQLiteEngine else { return nil }
    let (results, continuation) = AsyncStream.makeStream(of: Result<[String], any Error>.self)
    // A task of its own: SQLite cannot be called back, and Ctrl-C must not wait for a file of many gigabytes.
    Task {
      do {
        let findings = try await SQLiteDatabase(engine: engine).read { database in
          try database.query("PRAGMA quick_check(100)") { $0.text(0) }
        }
        continuation.yield(.success(findings.filter { $0 != "ok" }))
      } catch let error as StorageError where error.code == .damaged {
        continuation.yield(.success([error.message]))
      } catch {
        continuation.yield(.failure(error))
      }
    }
    for await result in results { return try result.get() }
    throw CancellationError()
  }
}
