import Coffer
import CofferEncryption
import CofferTesting
import Foundation

/// Runs a command of stores with write-back; returns `false` if it is none.
func runWriteBack(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  if command == "write-back-end" {
    try await writeBackAndEnd(path, ending: rest[0], kind: rest[1])
    return true
  }
  guard command == "write-back" else { return false }
  try await writeBack(path, window: Int(rest[0]) ?? 250, from: Int(rest[1]) ?? 0)
  return true
}

/// Saves increasing numbers without end, each under its own key and under `last` and `copy` in one batch, and prints
/// each.
private func writeBack(_ path: String, window: Int, from first: Int) async throws {
  let policy = WriteBackPolicy(window: .milliseconds(window))
  let store = TypedStore(engine: try await SQLiteEngine.open(at: path), writePolicy: .back(policy))
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

/// Saves 1,000 values from memory with a window of an hour, and ends or waits: "write-back-end STORE exit|wait KIND".
/// The store is encrypted if the kind is `encrypted`.
private func writeBackAndEnd(_ path: String, ending: String, kind: String) async throws {
  var engine: any StorageEngine = try await SQLiteEngine.open(at: path)
  if kind == "encrypted" { engine = try await EncryptedEngine.open(engine) { _ in try testRoot() } }
  let store = TypedStore(engine: engine, writePolicy: .back(WriteBackPolicy(window: .seconds(3_600))))
  store.flushAtTermination()
  for number in 1...1_000 { try await store.save(number, for: KeyName("n/\(number)")) }
  say("saved")
  if ending == "exit" { exit(0) }
  try await hang()
}
