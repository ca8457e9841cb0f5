import CofferRouter
import Foundation

/// Assigns 7 to a setting in a database and ends the process at once: "assign STORE settings|stored exit|_exit|kill".
func runOnSettings(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  guard command == "assign" else { return false }
  let key = SettingKey("k", in: .database(URL(fileURLWithPath: store)), owner: "Tests", about: "A number.", default: 0)
  let router = StorageRouter()
  if rest[0] == "settings" {
    let settings = try await router.settings(key)
    try await settings.flush()
    for _ in 0..<assignments { settings[key] = 7 }
    end(rest[1])
  } else {
    try await assignStored(key, router, rest[1])
  }
  return true
}

@MainActor private func assignStored(_ key: SettingKey<Int>, _ router: StorageRouter, _ ending: String) async throws {
  let value = StoredValue(key, in: router, initially: 0)
  try await value.load()
  try await value.flush()
  for _ in 0..<assignments { value.value = 7 }
  end(ending)
}

/// An idle writer commits on this thread. For a busy one, such as one that a loaded machine has not yet let end its
/// last commit, each assignment waits no longer than 0.1 s.
private let assignments = 20

private func end(_ ending: String) {
  switch ending {
  case "exit": exit(0)
  case "_exit": _exit(0)
  default: kill(getpid(), SIGKILL)
  }
}
