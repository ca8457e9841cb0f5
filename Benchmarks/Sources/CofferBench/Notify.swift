import Coffer
import Foundation

/// Measures the delay between a commit in another process and its delivery to a subscriber, for each engine.
func measureNotify(_ bench: inout Bench, _ engines: BenchEngines) async throws {
  for kind in engines.all {
    let engine = try await engines.open(kind, "notify")
    // A keyring takes tens of milliseconds for a commit.
    let count = kind == .keychain ? 60 : 300
    try await bench.measure(
      "notify.\(kind.rawValue)", rounds: kind == .keychain ? 2 : 5, count: count,
      [
        Variant(subject: "coffer.\(kind.rawValue)", limit: Limit(maximumMicroseconds: 500)) { _, count in
          try await heard(of: count, on: engine, from: kind, engines)
        }
      ])
    try await engine.close()
  }
}

private func heard(
  of count: Int, on engine: any StorageEngine, from kind: EngineKind, _ engines: BenchEngines
) async throws -> [Double] {
  let first = engine.latestRevision.rawValue + 1
  let stream = engine.changes(since: nil)
  let listener = Task {
    var heard: [Double] = []
    for await change in stream {
      guard case .commit = change else { throw Failure("the subscriber received a reload") }
      heard.append(now())
      if change.revision.rawValue == first + UInt64(count) - 1 { break }
    }
    return heard
  }
  let told = try child(["writer", kind.rawValue, engines.directory.path, String(count)]).output.split(separator: "\n")
    .compactMap { Double($0) }
  let heard = try await listener.value
  precondition(told.count == count && heard.count == count)
  return zip(told, heard).map { max(0, $1 - $0) }
}

/// Commits at intervals and prints the time at which each commit returned.
func runWriterChild(_ kind: EngineKind, _ directory: URL, count: Int) async throws {
  let engine = try await BenchEngines(joining: directory).open(kind, "notify")
  let key = KeyName("bell")
  let origin = StoreOrigin()
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
