import Coffer
import Foundation

/// Measures a read by the `coffer` command, beside the same read by SQLite's: two processes, from start to end.
func measureCommand(_ bench: inout Bench, _ directory: URL) async throws {
  let coffer = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent("coffer")
  let sqlite = URL(fileURLWithPath: "/usr/bin/sqlite3")
  for program in [coffer, sqlite] where !FileManager.default.isExecutableFile(atPath: program.path) {
    return print("skipped: command.get needs \(program.lastPathComponent), which is not at \(program.path)")
  }
  let path = directory.appendingPathComponent("command.db").path
  let engine = try await SQLiteEngine.open(at: path)
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
      variant("sqlite3", sqlite, [path, "SELECT value FROM coffer_values WHERE key = CAST('key' AS BLOB)"]),
      variant("coffer", coffer, ["get", "key", "--store", path], Limit(subject: "sqlite3", maximumRatio: 1.5)),
    ])
}
