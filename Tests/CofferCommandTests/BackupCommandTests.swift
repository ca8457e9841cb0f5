import CofferTestSupport
import Foundation
import Testing

@Suite("backup and restore", .serialized)
struct BackupCommandTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func use(_ store: String) -> [(name: String, value: String?)] { [(name: "COFFER_STORE", value: store)] }

  // Requirement 1.70
  @Test("A database is backed up and restored, and the replaced one is kept")
  func database() async throws {
    try await sandbox.coffer("set", "theme", "dark")
    let made = try await sandbox.coffer("backup", "copy.db")
    #expect(made.status == 0 && made.errors.hasPrefix("Backed up 1 value ("), "\(made.errors)")
    #expect(made.output.isEmpty)
    #expect(try await sandbox.coffer("backup", "copy.db").status == 1)
    #expect(try await sandbox.coffer("backup", "copy.db", "--overwrite").status == 0)
    try await sandbox.coffer("set", "theme", "light")
    #expect(try await sandbox.coffer("restore", "copy.db").status == 2, "there is no terminal to ask on")
    let restored = try await sandbox.coffer("restore", "copy.db", "--yes", "--json")
    #expect(restored.status == 0, "\(restored.errors)")
    let kept = try #require(try restored.json()["replaced"] as? String)
    #expect(try await sandbox.coffer("get", "theme").text == "dark")
    #expect(try await sandbox.coffer("get", "theme", "--store", kept).text == "light")
    #expect(try await sandbox.coffer("restore", "copy.db", "--yes", "--discard", "--json").json()["replaced"] is NSNull)
    #expect(try await sandbox.coffer("verify").status == 0)
  }

  @Test("Missing stores, files that are no backups, and stores without backups")
  func missing() async throws {
    #expect(try await sandbox.coffer("backup", "copy.db").status == 3)
    try await sandbox.coffer("set", "a", "1")
    #expect(try await sandbox.coffer("restore", "nothing.db", "--yes").status == 1)
    try sandbox.write(Data("text".utf8), to: "text")
    #expect(try await sandbox.coffer("restore", "text", "--yes").status == 1)
    #expect(try await sandbox.coffer("backup").status == 2)
    #expect(try await sandbox.coffer("backup", "a", "b").status == 2)
    #expect(try await sandbox.coffer("get", "a").text == "1")
    for store in ["keychain:shop", "memory:"] {
      let ended = try await sandbox.coffer("restore", "text", "--yes", environment: use(store))
      #expect(ended.status == 1 && ended.errors.contains("no backups"), "\(ended.errors)")
    }
  }

  @Test("A store that is open is refused, unless it is taken over")
  func open() async throws {
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.coffer("backup", "copy.db")
    let watch = try sandbox.startCoffer("watch", "--since", "0")
    defer { watch.signal(SIGKILL) }
    try await eventually("the first event") { try watch.output().contains("  a\n") }
    let refused = try await sandbox.coffer("restore", "copy.db", "--yes", "--discard")
    #expect(refused.status == 1 && refused.errors.contains("take it over"), "\(refused.errors)")
    #expect(try await sandbox.coffer("restore", "copy.db", "--yes", "--take-over").status == 0)
    #expect(try await sandbox.coffer("get", "a").text == "1")
  }

  @Test(
    "Preferences are backed up and restored with their types, and later keys are removed",
    arguments: ["prefs:shop", "file:d"])
  func stores(_ store: String) async throws {
    let chosen = use(store)
    try await sandbox.coffer("set", "text", "dark", environment: chosen)
    if store.hasPrefix("prefs") {
      for (name, value, type) in [
        ("n", "30", "number"), ("b", "true", "boolean"), ("when", "2026-11-21T09:00:00Z", "date"),
      ] {
        try await sandbox.coffer("set", name, value, "--type", type, environment: chosen)
      }
    }
    let file = sandbox.path(".config/shop.plist")
    let before = try? String(contentsOfFile: file, encoding: .utf8)
    let values = try await sandbox.coffer("ls", "--json", environment: chosen).lines.count
    let made = try await sandbox.coffer("backup", "copy.db", "--json", environment: chosen)
    #expect(try made.json()["values"] as? Int == values, "\(made.errors)")
    try await sandbox.coffer("set", "text", "light", environment: chosen)
    try await sandbox.coffer("set", "more", "x", environment: chosen)
    let restored = try await sandbox.coffer("restore", "copy.db", "--yes", "--json", environment: chosen)
    #expect(restored.status == 0, "\(restored.errors)")
    let after = try? String(contentsOfFile: file, encoding: .utf8)
    #expect(after == before)
    #expect(try await sandbox.coffer("get", "text", environment: chosen).text == "dark")
    #expect(try await sandbox.coffer("get", "more", environment: chosen).status == 3)
    let kept = try #require(try restored.json()["replaced"] as? String)
    #expect(try await sandbox.coffer("get", "more", "--store", kept).text == "x")
    // A damaged backup changes nothing.
    try await sandbox.bash("printf x | dd of=copy.db bs=1 seek=5000 conv=notrunc")
    #expect(try await sandbox.coffer("restore", "copy.db", "--yes", environment: chosen).status == 1)
    #expect(try await sandbox.coffer("get", "text", environment: chosen).text == "dark")
  }

  @Test("The backup of a sealed file is sealed, and is restored with its passphrase")
  func sealed() async throws {
    try sandbox.write(Data("open sesame\n".utf8), to: "passphrase")
    try #require(chmod(sandbox.path("passphrase"), 0o600) == 0)
    let store = use("sealed:\(sandbox.path("s.sealed"))")
    func run(_ arguments: String..., input: String? = nil) async throws -> EndedProgram {
      let line = arguments.map { "'\($0)'" }.joined(separator: " ") + " --passphrase-file passphrase"
      return try await sandbox.bash((input.map { "printf %s '\($0)' | " } ?? "") + "coffer " + line, environment: store)
    }
    #expect(try await run("set", "token", "-", input: "first secret").status == 0)
    let made = try await run("backup", "copy.sealed", "--json")
    #expect(made.status == 0, "\(made.errors)")
    #expect(try sandbox.read("copy.sealed").range(of: Data("first secret".utf8)) == nil)
    #expect(try sandbox.read("copy.sealed").range(of: Data("token".utf8)) == nil)
    #expect(try await run("set", "token", "-", input: "second secret").status == 0)
    try sandbox.write(Data("wrong\n".utf8), to: "passphrase")
    #expect(try await run("restore", "copy.sealed", "--yes").status == 1)
    try sandbox.write(Data("open sesame\n".utf8), to: "passphrase")
    #expect(try await run("get", "token").text == "second secret")
    let restored = try await run("restore", "copy.sealed", "--yes", "--json")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try await run("get", "token").text == "first secret")
    #expect(try #require(try restored.json()["replaced"] as? String).hasPrefix(sandbox.path("s.sealed.replaced-")))
    let refused = try await sandbox.coffer("backup", "x", "--store", "memory:")
    #expect(refused.status == 1 && !sandbox.exists("x"))
  }
}
