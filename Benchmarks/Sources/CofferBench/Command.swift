import Coffer
import Foundation

/// Measures a read by the `coffer` command, beside the same read by SQLite's: two processes, from start to end.
func measureCommand(_ bench: inout Bench, _ directory: URL) async throws {
  guard let path = ProcessInfo.processInfo.environment["BENCH_COFFER"] else {
    return print("skipped: command.get needs the path of a coffer in BENCH_COFFER")
  }
  let coffer = URL(fileURLWithPath: path)
  let sqlite = URL(fileURLWithPath: "/usr/bin/sqlite3")
  for program in [coffer, sqlite] where !FileManager.default.isExecutableFile(atPath: program.path) {
    return print("skipped: command.get needs \(program.lastPathComponent), which is not at \(program.path)")
  }
  let store = directory.appendingPathComponent("command.db").path
  let engine = try await SQLiteEngine.open(at: store)
  let batch = WriteBatch([.put("key", Data("value".utf8))])
  try await engine.commit(batch, from: StoreOrigin())
  try await engine.close()
  func variant(_ subject: String, _ program: URL, _ arguments: [String], _ limit: Limit = Limit()) -> Variant {
    Variant(subject: subject, limit: limit) { first, count in
      try await each(first, count) { _ in
        let process = Process()
        (process.executableURL, process.arguments) = (program, arguments)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure("\(subject) ended with an error") }
      }
    }
  }
  try await bench.measure(
    "command.get", count: 20,
    [
      variant("sqlite3", sqlite, [store, "SELECT value FROM coffer_values WHERE key = CAST('key' AS BLOB)"]),
      variant(
        "coffer", coffer, ["get", "key", "--store", store],
        Limit(subject: "sqlite3", maximumRatio: 1.5, accepted: 4.5)),
    ])
}
