import CofferRouter
import Foundation

/// Runs a command that adds members to a family, or returns `false` for another command.
func runOnFamilies(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  guard command == "family-add", rest.count == 2, let count = Int(rest[1]) else { return false }
  var configuration = StorageConfiguration()
  configuration.engines["shared"] = try await SQLiteEngine.open(at: store)
  let router = StorageRouter(configuration: configuration)
  let family = KeyFamily<String, Int>(
    "drafts", in: .engine("shared"), owner: "Tests", about: "Members that several processes add.")
  for number in 0..<count {
    try await router.set(number, for: family["\(rest[0])-\(number)"], durability: .relaxed)
    say("ack \(number)")
  }
  return true
}
