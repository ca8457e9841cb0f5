import Coffer

extension StorageEngine {
  /// What SQLite finds wrong with the pages of the file, in its words; `nil` for a store that is none of SQLite's.
  ///
  /// It reads the whole file once more, beside the writer. It finds what no reading of values can: a page that two
  /// tables claim, a journal or an application's table that is torn.
  func structuralDamage() async throws -> [String]? {
    // A store of files has a database too: its journal.
    guard let engine = self as? SQLiteEngine ?? (self as? SlotEngine)?.journal else { return nil }
    let (results, continuation) = AsyncStream.makeStream(of: Result<[String], any Error>.self)
    // A task of its own: SQLite cannot be called back, and Ctrl-C must not wait for a file of many gigabytes.
    Task {
      do {
        continuation.yield(.success(try await SQLiteDatabase(engine: engine).read(findings)))
      } catch {
        continuation.yield(.failure(error))
      }
    }
    for await result in results { return try result.get() }
    throw CancellationError()
  }
}

private func findings(_ database: SQLiteReadTransaction) throws -> [String] {
  var findings: [String] = []
  do {
    // A row is one sentence or several lines, of which the first is a heading.
    _ = try database.query("PRAGMA quick_check(100)") { row in
      findings += row.text(0).split(separator: "\n").filter { $0 != "ok" && !$0.hasPrefix("***") }.map(String.init)
    }
  } catch let error as StorageError where error.code == .damaged {
    // The check itself cannot go on; what it has said before says where.
    if findings.isEmpty { findings.append(error.underlying?.text ?? error.message) }
  }
  return findings
}
