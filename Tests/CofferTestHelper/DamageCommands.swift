import Coffer
import Foundation

/// Runs a command about damaged values; returns `false` if it is none.
func runOnDamage(_ command: String, _ location: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "damaged-read": try await readDamaged(StoreLocation(location), name: rest[0], count: Int(rest[1]) ?? 1)
  case "damaged-die": try await dieInHandler(StoreLocation(location))
  default: return false
  }
  return true
}

/// Reads the damaged value `k` in several tasks at once, with a policy that replaces it by the name of the process.
private func readDamaged(_ location: StoreLocation, name: String, count: Int) async throws {
  let engine = try await location.open()
  let store = TypedStore(engine: engine, damagePolicy: .replace(with: Data("process \(name)".utf8))) { handled in
    if case .replaced = handled.outcome { say("replaced") } else { say("failed") }
  }
  say("ready")
  _ = readLine()
  try await withThrowingTaskGroup { group in
    for _ in 0..<count {
      group.addTask { say("read \(try await store.load(String.self, for: KeyName("k")) ?? "nothing")") }
    }
    try await group.waitForAll()
  }
  try await engine.close()
}

/// Kills itself in the handler of the damaged value `k`.
private func dieInHandler(_ location: StoreLocation) async throws {
  let store = TypedStore(
    engine: try await location.open(),
    damagePolicy: .replace { _ in
      say("handler")
      kill(getpid(), SIGKILL)
      return Data()
    })
  _ = try await store.load(String.self, for: KeyName("k"))
  say("never said")
}
