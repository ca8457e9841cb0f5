import CofferRouter
import Foundation

/// Clears the stores of a router below a directory; returns whether the command is that.
func runOnRouter(_ command: String, _ root: String) async throws -> Bool {
  guard command == "router-clear" else { return false }
  let router = StorageRouter()
  try await router.registerCatalog(ClearedCatalog(root: root))
  let report = try await router.clear(all: .valuesAndSecrets)
  say("left \(report.failures.count)")
  try await router.close()
  say("closed")
  return true
}

/// Three keys in each of three stores.
private struct ClearedCatalog: StorageKeyCatalog {
  let root: String

  var allKeys: [AnyStorageKey] {
    let domains: [(String, StorageDomain)] = [
      ("database", .database(URL(fileURLWithPath: root + "/store.db"))),
      ("files", .fileSystem(.custom(URL(fileURLWithPath: root + "/files")))),
      ("preferences", .userDefaults(suite: "com.example.clear")),
    ]
    return domains.flatMap { name, domain in
      (1...3).map { .key(TypedKey<Int>("\(name) \($0)", in: domain, owner: "Tests", about: "For a test.")) }
    }
  }
}
