import Coffer
import CofferTesting
import Foundation

/// Runs a command of stores with write-back; returns `false` if it is none.
func runWriteBack(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  guard command == "write-back" else { return false }
  try await writeBack(path, window: Int(rest[0]) ?? 250, from: Int(rest[1]) ?? 0)
  return true
}

/// Saves increasing numbers without end, each under its own key and under `last` and `copy` in one batch, and prints
/// each.
private func writeBack(_ path: String, window: Int, from first: Int) async throws {
  let policy = WritePolicy.back(window: .milliseconds(window))
  let store = TypedStore(engine: try await SQLiteEngine.open(at: path), writePolicy: policy)
  say("ready")
  var number = first
  while true {
    number += 1
    let present = number
    try await store.save(present, for: KeyName("n/\(present)"))
    try await store.batch(durability: .relaxed) { batch in
      try batch.save(present, for: KeyName("last"))
      try batch.save(present, for: KeyName("copy"))
      if present % 8 == 7 { try batch.save(String(repeating: "x", count: 9_000), for: "large") }
    }
    say("\(number)")
  }
}
