import Coffer
import Foundation

/// How long after a commit in another process its subscriber here has heard of it.
func measureNotify(_ bench: inout Bench, _ directory: URL) async throws {
  let path = directory.appendingPathComponent("notify.db").path
  let engine = try await SQLiteEngine.open(at: path)
  try await bench.measure(
    "notify.process", count: 300,
    [
      Variant(subject: "coffer.sqlite", limit: Limit(maximumMicroseconds: 500)) { _, count in
        let first = engine.latestRevision.rawValue + 1
        let stream = engine.changes(since: nil)
        let listener = Task {
          var heard: [Double] = []
          for await change in stream {
            guard case .commit = change else { throw Failure("the subscriber was told to reload") }
            heard.append(now())
            if change.revision.rawValue == first + UInt64(count) - 1 { break }
          }
          return heard
        }
        let told = try child(["writer", path, String(count)]).output.split(separator: "\n").compactMap { Double($0) }
        let heard = try await listener.value
        precondition(told.count == count && heard.count == count)
        return zip(told, heard).map { max(0, $1 - $0) }
      }
    ])
  try await engine.close()
}

/// Commits at intervals and prints when each commit had returned.
func runWriterChild(_ path: String, count: Int) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  let key = try Key("bell")
  let origin = Origin()
  try await Task.sleep(for: .milliseconds(50))
  var times: [Double] = []
  for index in 0..<count {
    _ = try await engine.commit(
      WriteBatch([.put(key, Data(Values.bytes(index)))], durability: .relaxed), from: origin)
    times.append(now())
    try await Task.sleep(for: .milliseconds(2))
  }
  for time in times { print(String(format: "%.9f", time)) }
  try await engine.close()
}
