import Coffer
import Foundation

/// Runs a command on values with versions; returns `false` if it is none.
func runOnSchemas(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  if command == "schema-write" {
    try await writeFirstVersion(path, count: Int(rest[0]) ?? 0)
    return true
  }
  guard command == "schema-migrate" else { return false }
  let schema = try ValueSchema<[Int]>(
    "numbers", version: 3,
    steps: [
      MigrationStep(from: 1, to: 2) { (old: String) in Int(old) ?? 0 },
      MigrationStep(from: 2, to: 3) { (old: Int) in [old] },
    ])
  var schemas = StoreSchema()
  try schemas.declare(prefix: "n/", schema)
  let store = try TypedStore(engine: try await StoreLocation(path).open(), schema: schemas)
  say("ready")
  _ = readLine()
  var report: TypedStore.MigrationReport?
  for attempt in 1...20 where report == nil {
    do { report = try await store.migrate { say("\($0.completed)") } } catch let error as StorageError
      where error.code == .busy && attempt < 20
    {}  // On a loaded machine another process may hold the lock for longer than a commit waits.
  }
  say("migrated \(report?.migrated ?? 0)")
  try await store.engine.close()
  return true
}

/// Writes numbers as the first version of an application does, round after round, until all were migrated by a newer
/// one; says "KEY NUMBER" after each write that was accepted.
private func writeFirstVersion(_ path: String, count: Int) async throws {
  var schemas = StoreSchema()
  try schemas.declare(prefix: "n/", ValueSchema<String>("numbers", version: 1, steps: []))
  let store = try TypedStore(engine: try await StoreLocation(path).open(), schema: schemas)
  say("ready")
  _ = readLine()
  var refused: Set<Int> = []
  var round = 0
  while refused.count < count {
    round += 1
    for number in 0..<count where !refused.contains(number) {
      do {
        try await store.save("\(round * 1_000 + number)", for: "n/\(number)")
        say("\(number) \(round * 1_000 + number)")
      } catch let error as StorageError where error.code == .newerFormat { refused.insert(number) }
    }
  }
  say("refused \(refused.count)")
  try await store.engine.close()
}
