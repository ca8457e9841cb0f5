import Coffer
import Foundation

/// Which store is meant, and how it was written.
enum StoreLocation {
  /// The kinds of store that a location can begin with.
  private static let schemes = "sqlite:PATH, file:DIR and memory:"

  /// `--store`, else `COFFER_STORE`, else the user's own store.
  static func of(_ invocation: Invocation) throws -> String {
    if let location = invocation.options[.store] ?? environment("COFFER_STORE") { return location }
    // A relative XDG_DATA_HOME is invalid and ignored: so says its specification.
    if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") { return "sqlite:\(data)/coffer/coffer.db" }
    guard let home = environment("HOME") else {
      throw UsageError("There is no HOME and so no default store: say where it is, --store PATH.", invocation.command)
    }
    return "sqlite:\(home)/.local/share/coffer/coffer.db"
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  fileprivate static func unknown(_ scheme: Substring) -> UsageError {
    UsageError(
      "'\(String(scheme).oneLine(limit: 20)):' is no kind of store; known are \(schemes). "
        + "Write ./ before a file name that contains a colon.")
  }
}

/// Opens what a location names: `PATH`, `sqlite:PATH`, `file:DIR` or `memory:`. Other homes become further cases here.
func openStore(_ location: String, creating: Bool) async throws -> any StorageEngine {
  let scheme = location.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "-") }
  let rest = location.dropFirst(scheme.count)
  guard !scheme.isEmpty, rest.first == ":" else { return try await openSQLite(location, creating: creating) }
  switch scheme {
  case "sqlite": return try await openSQLite(String(rest.dropFirst()), creating: creating)
  case "file": return try await openFiles(String(rest.dropFirst()), creating: creating)
  case "memory": return MemoryEngine(name: String(rest.dropFirst()))
  default: throw StoreLocation.unknown(scheme)
  }
}

private func openSQLite(_ path: String, creating: Bool) async throws -> any StorageEngine {
  guard !path.isEmpty else { throw UsageError("The store has no path: sqlite:PATH.") }
  guard !path.hasSuffix("/") else { throw UsageError("A store is a file, and this path ends in a slash.") }
  var configuration = SQLiteConfiguration()
  configuration.createsIfMissing = creating
  do {
    return try await SQLiteEngine.open(at: path, configuration: configuration)
  } catch let error as StorageError where error.code == .notFound && !creating {
    throw missing(error)
  } catch let error as StorageError where error.code == .notAStore && isStoreOfFiles(path) {
    throw UsageError("The path is a store of files: write file:\(path.oneLine()).")
  }
}

private func openFiles(_ path: String, creating: Bool) async throws -> any StorageEngine {
  guard !path.isEmpty else { throw UsageError("The store has no directory: file:DIR.") }
  var configuration = SlotConfiguration()
  configuration.createsIfMissing = creating
  configuration.onRecovery = { report in
    guard report.wasRebuilt else { return }
    // It can be said nowhere else, and the command goes on.
    try? Output.error.note(
      "\(report.backend.oneLine()) had no journal: it was made anew from \(counted(report.edited, "file")). "
        + "Revisions start again.", after: "coffer:")
  }
  do {
    return try await SlotEngine.files(in: URL(fileURLWithPath: path, isDirectory: true), configuration: configuration)
  } catch let error as StorageError where error.code == .notFound && !creating {
    throw missing(error)
  }
}

private func isStoreOfFiles(_ path: String) -> Bool {
  FileManager.default.fileExists(atPath: URL(fileURLWithPath: path).appendingPathComponent(".coffer/journal.db").path)
}

private func missing(_ error: StorageError) -> CommandError {
  // What the system said, such as "No such file or directory", says nothing more.
  CommandError(
    StorageError(
      error.code, error.message, advice: "Check the path; 'coffer set KEY VALUE' creates it.", backend: error.backend))
}

/// Opens the store that is meant, and closes it when `body` has ended, however it ends.
func withStore<R>(
  _ invocation: Invocation, creating: Bool = false, _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  try await withStore(at: StoreLocation.of(invocation), creating: creating, body)
}

/// Opens a store, and closes it when `body` has ended, however it ends.
func withStore<R>(
  at location: String, creating: Bool = false, _ body: (any StorageEngine) async throws -> R
) async throws -> R {
  let engine = try await openStore(location, creating: creating)
  let result: R
  do {
    result = try await body(engine)
  } catch {
    try? await engine.close()  // What went wrong first is what to tell.
    throw error
  }
  try await engine.close()
  return result
}
