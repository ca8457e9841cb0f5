import Coffer
import Foundation

/// Runs a command on values with versions; returns `false` if it is none.
func runOnSchemas(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
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
  let report = try await store.migrate { say("\($0.completed)") }
  say("migrated \(report.migrated)")
  try await store.engine.close()
  return true
}
