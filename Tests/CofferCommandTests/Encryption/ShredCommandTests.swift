import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite("shred", .serialized)
struct ShredCommandTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("All values are erased, after a question, and the store can be used again")
  func whole() async throws {
    for name in ["a", "b"] {
      try await sandbox.coffer("set", name, "1", "--store", "encrypted:store.db", "--key-file", key)
    }
    let old = try await sandbox.contents("store.db")
    let forecast = try await sandbox.coffer("shred", "store.db", "--dry-run", "--json", "--key-file", key).json()
    #expect(forecast["dryRun"] as? Bool == true && forecast["values"] as? Int == 2)
    #expect(try await sandbox.contents("store.db") == old)
    #expect(try await sandbox.coffer("shred", "store.db", "--key-file", key).status == 2, "there is no terminal")
    let no = try await sandbox.bash("printf 'n\\n' | script -qec 'coffer shred store.db --key-file app.key' /dev/null")
    #expect(no.text.contains("for good? [y/N]") && no.text.contains("Nothing was erased."), "\(no.text)")
    let ended = try await sandbox.coffer("shred", "store.db", "--yes", "--key-file", key)
    #expect(ended.status == 0 && ended.errors.contains("Erased 2 values"), "\(ended.errors)")
    #expect(ended.errors.replacing("\n", with: " ").contains("Earlier copies of the store"), "\(ended.errors)")
    #expect(try await sandbox.coffer("ls", "--key-file", key).output.isEmpty)
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).status == 3)
    #expect(try await sandbox.coffer("set", "a", "2", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "2")
    // An old envelope that is put back opens under no key.
    let envelope = try #require(old["a"])
    let file = try #require(FileManager.default.enumerator(atPath: sandbox.url.path)).compactMap { $0 as? String }
      .filter { $0.hasPrefix("store.db") }
    for name in file {
      #expect((try? Data(contentsOf: sandbox.url.appendingPathComponent(name)))?.range(of: envelope) == nil, "\(name)")
    }
  }

  @Test("A run that could not rewrite the files is finished, and what was written since stays")
  func continuing() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    let idle = try await sandbox.coffer("shred", "store.db", "--continue", "--key-file", key)
    #expect(idle.status == 0 && idle.errors.contains("There is nothing to continue."), "\(idle.errors)")
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
    #expect(try await sandbox.coffer("shred", "store.db", "--continue", "--dry-run", "--key-file", key).status == 2)
    // A reader of the log keeps the files from being rewritten.
    let reader = try await SQLiteEngine.open(at: sandbox.storePath)
    let ended = try await reader.withSnapshot { snapshot in
      _ = try await snapshot.summaries(prefix: nil, after: nil, limit: 1)
      return try await sandbox.coffer("shred", "store.db", "--yes", "--key-file", key)
    }
    try await reader.close()
    #expect(ended.status == 1, "\(ended.errors)")
    let words = ended.errors.replacing("\n", with: " ")
    #expect(words.contains("'coffer shred --continue'") && !words.contains("same command again"), "\(words)")
    #expect(try await sandbox.coffer("set", "b", "2", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("shred", "store.db", "--continue", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "b", "--key-file", key).text == "2")
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).status == 3)
    let keys = try await sandbox.coffer("keys", "store.db", "--json", "--key-file", key).json()
    #expect((keys["keys"] as? [NSDictionary])?.map { $0["state"] as? String } == ["primary"], "\(keys)")
  }

  @Test("A forecast changes nothing, not even what an earlier run has left")
  func forecast() async throws {
    for name in ["a", "b"] {
      try await sandbox.coffer("set", name, "1", "--store", "encrypted:store.db", "--key-file", key)
    }
    let reader = try await SQLiteEngine.open(at: sandbox.storePath)
    let ended = try await reader.withSnapshot { snapshot in
      _ = try await snapshot.summaries(prefix: nil, after: nil, limit: 1)
      return try await sandbox.coffer("shred", "store.db", "--yes", "--key-file", key)
    }
    #expect(ended.status == 1, "\(ended.errors)")
    try await reader.close()
    let left = try await SQLiteEngine.open(at: sandbox.storePath)
    let before = left.latestRevision
    try await left.close()
    let forecast = try await sandbox.coffer("shred", "store.db", "--dry-run", "--key-file", key)
    #expect(forecast.status == 0 && forecast.words.contains("Nothing was changed."), "\(forecast.errors)")
    let after = try await SQLiteEngine.open(at: sandbox.storePath)
    #expect(after.latestRevision == before)
    try await after.close()
  }

  @Test("Plain values of a mixed store stay")
  func mixed() async throws {
    try await sandbox.makeMixedStore(key: key)
    #expect(try await sandbox.coffer("shred", "store.db", "--yes", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("ls").lines == ["theme"])
    #expect(try await sandbox.coffer("get", "theme").text == "dark")
  }
}
