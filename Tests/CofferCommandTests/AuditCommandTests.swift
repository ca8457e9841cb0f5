import CofferRouter
import CofferTestSupport
import Foundation
import Testing

@Suite("audit") struct AuditCommandTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private struct Keys: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]

    init(_ database: URL) {
      allKeys = [
        .key(TypedKey<String>("name", in: .database(database), owner: "Account", about: "The name of the customer.")),
        .key(
          TypedKey<String>(
            "absent", in: .database(database), owner: "Account", about: "A line\u{1B}[31m that lies.", sync: .manual)),
        .key(TypedKey<Int>("memory", in: .memory(), owner: "Tests", about: "Only the application has it.")),
        .key(TypedKey<Int>("size", in: .userDefaults(suite: "shop"), owner: "Settings", about: "How large.")),
        .key(
          TypedKey<String>(
            "ticket", in: .database(database), owner: "Account", about: "It expires.", lifetime: .seconds(90_000))),
      ]
    }
  }

  /// Writes the manifest of an application and returns its path.
  private func keys() async throws -> String {
    let router = StorageRouter()
    try await router.registerCatalog(Keys(sandbox.url.appendingPathComponent("store.db")))
    try sandbox.write(try await router.manifest().encoded, to: "keys.json")
    return "keys.json"
  }

  // Requirements 4.1, 5.1
  @Test("The report lists every key with its store, and undeclared keys")
  func report() async throws {
    let keys = try await keys()
    try await sandbox.coffer("set", "name", "s3cret")
    try await sandbox.coffer("set", "stranger", "12345")
    let ended = try await sandbox.coffer("audit", keys)
    #expect(ended.status == 1, "\(ended.errors)")  // The memory of another program cannot be read.
    #expect(ended.text.contains("5 declared keys in 3 stores"), "\(ended.text)")
    #expect(ended.text.contains("sqlite:\(sandbox.storePath)\n"))
    #expect(ended.text.contains("  name  6 B") || ended.text.contains("  name  6 bytes"), "\(ended.text)")
    #expect(ended.text.contains("absent  no value") && ended.text.contains("sync: manual"))
    #expect(ended.text.contains("sync: never · lifetime: 1 day, 1 hour\n"), "\(ended.text)")
    #expect(ended.text.components(separatedBy: "lifetime").count == 2)
    #expect(ended.text.contains("Only the application itself"))
    #expect(ended.text.contains("but not declared\n  stranger in sqlite:"))
    #expect(!ended.text.contains("s3cret") && !ended.text.contains("\u{1B}"))
    #expect(!sandbox.exists(".config"))
    let lines = ended.lines.filter { $0.count > 120 }
    #expect(lines.isEmpty, "\(lines)")
  }

  // Requirement 5.1
  @Test("The same as JSON and as a page")
  func machines() async throws {
    let keys = try await keys()
    try await sandbox.coffer("set", "name", "s3cret")
    let ended = try await sandbox.bash("coffer audit - --json --html page.html < \(keys)")
    let json = try ended.json()
    let entries = try #require(json["entries"] as? [[String: Any]]).compactMap { $0["key"] as? [String: Any] }
    #expect(entries.count == 5)
    #expect(entries.first { $0["name"] as? String == "ticket" }?["lifetime"] as? Double == 90_000)
    #expect(entries.count { $0["lifetime"] != nil } == 1)
    let page = String(decoding: try sandbox.read("page.html"), as: UTF8.self)
    #expect(
      page.hasPrefix("<!doctype html>") && page.contains("The name of the customer.")
        && page.contains("expires after 1 day, 1 hour"))
    #expect(!page.contains("s3cret"))
  }

  // Requirement 4.1
  @Test("A family is one line, and undeclared values with a common beginning are folded, unless all are wanted")
  func folded() async throws {
    let database = sandbox.url.appendingPathComponent("store.db")
    let drafts = KeyFamily<Int, Int>("drafts", in: .database(database), owner: "Editor", about: "Unsent messages.")
    struct Drafts: StorageKeyCatalog { let allKeys: [AnyStorageKey] }
    let router = StorageRouter()
    try await router.registerCatalog(Drafts(allKeys: [.family(drafts)]))
    try sandbox.write(try await router.manifest().encoded, to: "keys.json")
    for number in 0..<20 { try await router.set(number, for: drafts[number]) }
    try await router.close()
    for number in 0..<20 { try await sandbox.coffer("set", "cache/img-\(number)", "12345") }
    let ended = try await sandbox.coffer("audit", "keys.json")
    #expect(ended.status == 0, "\(ended.errors)")
    #expect(ended.text.contains("1 declared key in 1 store\n"), "\(ended.text)")
    #expect(ended.text.contains("  drafts/… (family by Int)  20 values, 30 B"), "\(ended.text)")
    #expect(ended.text.contains("  cache/img-… in sqlite:\(sandbox.storePath), 20 values, 100 B"), "\(ended.text)")
    #expect(ended.text.contains("      cache/img-0  cache/img-18  cache/img-9\n"), "\(ended.text)")
    #expect(ended.text.contains("--all") && ended.lines.filter { $0.count > 120 }.isEmpty)
    let json = try await sandbox.coffer("audit", "keys.json", "--json").json()
    let groups = try #require(json["undeclared"] as? [[String: Any]])
    #expect(groups.count == 1 && groups[0]["count"] as? Int == 20 && groups[0]["size"] as? Int == 100)
    #expect((groups[0]["examples"] as? [String])?.count == 3)
    let all = try await sandbox.coffer("audit", "keys.json", "--all", "--json").json()
    #expect((all["undeclared"] as? [[String: Any]])?.count == 20)
    let lines = try await sandbox.coffer("audit", "keys.json", "--all").lines
    #expect(lines.filter { $0.contains("cache/img-") }.count == 20 && !lines.contains { $0.contains("--all") })
  }

  @Test("A file that is not a list of keys is an error")
  func mistakes() async throws {
    try sandbox.write(Data("{}".utf8), to: "no.json")
    let none = try await sandbox.coffer("audit", "no.json")
    #expect(none.status == 1 && none.errors.contains("not a list of keys"), "\(none.errors)")
    let newer = try await sandbox.coffer("audit", "-", "--json", input: Data(#"{"format":3}"#.utf8))
    #expect(newer.status == 1)
    #expect(try newer.errorJSON()["code"] as? String == "newerFormat")
    #expect(try await sandbox.coffer("audit").status == 2)
    #expect(try await sandbox.coffer("audit", "missing.json").status != 0)
    let keys = try await keys()
    let folder = try await sandbox.coffer("audit", keys, "--html", "no/such/page.html")
    #expect(folder.status == 1 && folder.errors.contains("no such file"), "\(folder.errors)")
  }
}
