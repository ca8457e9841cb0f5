import Coffer
import CofferCore
import CofferTesting
import Foundation

/// Commits once to a store with values that expired long ago, and waits until they are swept: "expire STORE files N",
/// which kills itself at step number N, or "expire STORE database FAULT". 0 and "none" stand for no fault.
func runOnExpiry(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  guard command == "expire", rest.count == 2 else { return false }
  let armed = Locked(false)
  let engine: any StorageEngine
  if rest[0] == "files" {
    engine = try await SlotEngine.files(
      in: URL(fileURLWithPath: store), configuration: stepping(Int(rest[1]) ?? 0, armed: armed))
  } else {
    engine = try await SQLiteEngine.open(at: store)
  }
  armed.withLock { $0 = true }
  if rest[0] == "database", rest[1] != "none" { try arm(rest[1]) }
  try await engine.commit(WriteBatch([.put(KeyName("trigger"), Data("x".utf8))]), from: StoreOrigin())
  say("committed")
  try await untilSwept(engine)
  say("swept")
  try await engine.close()
  say("closed")
  return true
}

/// Waits until no value with the prefix `expired/` is stored.
private func untilSwept(_ engine: any StorageEngine) async throws {
  guard let records = engine.as(SQLiteEngine.self) ?? engine.as(SlotEngine.self)?.journal else { throw Usage() }
  try await eventually("all are swept") {
    try await records.withStoredSnapshot {
      try await $0.summaries(prefix: KeyName("expired/"), after: nil, limit: 1).isEmpty
    }
  }
}
