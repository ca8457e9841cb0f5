import Coffer
import Foundation

/// How long after a commit in another process its subscriber here has heard of it, for each home.
func measureNotify(_ bench: inout Bench, _ homes: Homes) async throws {
  for home in homes.all {
    let engine = try await homes.open(home, "notify")
    // A keyring takes tens of milliseconds for a commit.
    let count = home == .keychain ? 60 : 300
    try await bench.measure(
      "notify.\(home.rawValue)", rounds: home == .keychain ? 2 : 5, count: count,
      [
        Variant(subject: "coffer.\(home.rawValue)", limit: Limit(maximumMicroseconds: 500)) { _, count in
          try await heard(of: count, on: engine, from: home, homes)
        }
      ])
    try await engine.close()
  }
}

private func heard(
  of count: Int, on engine: any StorageEngine, from home: Home, _ homes: Homes
) async throws -> [Double] {
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
  let told = try child(["writer", home.rawValue, homes.directory.path, String(count)]).output.split(separator: "\n")
    .compactMap { Double($0) }
  let heard = try await listener.value
  precondition(told.count == count && heard.count == count)
  return zip(told, heard).map { max(0, $1 - $0) }
}

/// Commits at intervals and prints when each commit had returned.
func runWriterChild(_ home: Home, _ directory: URL, count: Int) async throws {
  let engine = try await Homes(joining: directory).open(home, "notify")
  let key = try StoreKey("bell")
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
