import CofferPersistence
import CofferTesting
import Foundation

private struct NumberClient: Persistable {
  static let persistedKeys = ["number"]
  let persistence: any PersistenceCapability
  @ClientState var number = 0

  func persistState() async throws { try await persistence.save(number, for: "number") }
  func restoreState() async throws {
    if let saved = try await persistence.load(Int.self, for: "number") { number = saved }
  }
}

/// Sets a number of a client to 7 and ends or waits: "client STORE exit|wait INTERVAL".
func runClients(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  guard command == "client" else { return false }
  let session = ClientSession(
    engine: try await SQLiteEngine.open(at: store), interval: .seconds(Double(rest[1]) ?? 1))
  let client = try await session.start { NumberClient(persistence: $0) }
  client.number = 7
  say("edited")
  if rest[0] == "exit" {
    try await session.save()
    exit(0)
  }
  try await hang()
  return true
}
