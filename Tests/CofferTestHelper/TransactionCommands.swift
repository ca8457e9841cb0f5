import Coffer
import Foundation

/// Runs a command of transactions over keys; returns `false` if it is none.
func runTransactions(_ command: String, _ path: String, _ rest: [String]) async throws -> Bool {
  guard command == "transfer" else { return false }
  try await transfer(StoreLocation(path), count: Int(rest[0]) ?? .max, from: rest[1], to: rest[2])
  return true
}

/// Moves one unit from an account to another, `count` times; prints the number of each transfer once it is committed.
private func transfer(_ location: StoreLocation, count: Int, from: String, to: String) async throws {
  let store = TypedStore(engine: try await location.open())
  let (from, to) = (try KeyName(from), try KeyName(to))
  for number in 0..<count {
    try await store.transaction(durability: .relaxed, within: .seconds(120)) { transaction in
      let (left, right) = (
        try await transaction.load(Int.self, for: from) ?? 0, try await transaction.load(Int.self, for: to) ?? 0
      )
      try transaction.save(left - 1, for: from)
      try transaction.save(right + 1, for: to)
    }
    say("\(number)")
  }
  try await store.engine.close()
}
