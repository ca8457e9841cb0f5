import Coffer
import Foundation

/// Runs a command of stores with write-back; returns `false` if it is none.
func runWriteBack(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  guard command == "write-back" else { return false }
  try await writeBack(path, window: Int(rest[0]) ?? 250, every: Int(rest[1]) ?? 100)
  return true
}

/// Saves increasing numbers without end, each under its own key and under `last` and `copy` in one batch, and flushes
/// after every `every` of them. Prints the number after each flush.
private func writeBack(_ path: String, window: Int, every: Int) async throws {
  let policy = WriteBackPolicy(window: .milliseconds(window))
  let store = TypedStore(engine: try await SQLiteEngine.open(at: path), writePolicy: .back(policy))
  say("ready")
  var number = 0
  while true {
    number += 1
    let present = number
    try await store.save(present, for: StoreKey("n/\(present)"))
    try await store.batch(durability: .relaxed) { batch in
      try batch.save(present, for: StoreKey("last"))
      try batch.save(present, for: StoreKey("copy"))
    }
    guard number % every == 0 else { continue }
    try await store.flush()
    say("\(number)")
  }
}
