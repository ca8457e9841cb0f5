import Coffer
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

  @Test("The report lists every key with its store, and undeclared keys")
  func report() async throws {
    let keys = try await keys()
    try await sandbox.coffer("set", "name", "s3cret")
    try await sandbox.coffer("set", "stranger", "12345")
    let ended = try await sandbox.coffer("audit", keys)
    #expect(ended.status == 1, "\(ended.errors)")  // The memory of another program cannot be read.
    #expect(ended.text.contains("4 declared keys in 3 stores"), "\(ended.text)")
    #expect(ended.text.contains("sqlite:\(sandbox.storePath)\n"))
    #expect(ended.text.contains("  name  6 B") || ended.text.contains("  name  6 bytes"), "\(ended.text)")
    #expect(ended.text.contains("absent  no value") && ended.text.contains("sync: manual"))
    #expect(ended.text.contains("Only the application itself"))
    #expect(ended.text.contains("but not declared\n  stranger in sqlite:"))
    #expect(!ended.text.contains("s3cret") && !ended.text.contains("\u{1B}"))
    #expect(!sandbox.exists(".config"))
    let lines = ended.lines.filter { $0.count > 120 }
    #expect(lines.isEmpty, "\(lines)")
  }

  @Test("The same as JSON and as a page")
  func machines() async throws {
    let keys = try await keys()
    try await sandbox.coffer("set", "name", "s3cret")
    let ended = try await sandbox.bash("coffer audit - --json --html page.html < \(keys)")
    let json = try ended.json()
    #expect((json["entries"] as? [[String: Any]])?.count == 4)
    let page = String(decoding: try sandbox.read("page.html"), as: UTF8.self)
    #expect(page.hasPrefix("<!doctype html>") && page.contains("The name of the customer.") && !page.contains("s3cret"))
  }

  @Test("A file that is not a list of keys is an error")
  func mistakes() async throws {
    try sandbox.write(Data("{}".utf8), to: "no.json")
    let none = try await sandbox.coffer("audit", "no.json")
    #expect(none.status == 1 && none.errors.contains("not a list of keys"), "\(none.errors)")
    let newer = try await sandbox.coffer("audit", "-", "--json", input: Data(#"{"format":2}"#.utf8))
    #expect(newer.status == 1)
    #expect(try newer.errorJSON()["code"] as? String == "newerFormat")
    #expect(try await sandbox.coffer("audit").status == 2)
    #expect(try await sandbox.coffer("audit", "missing.json").status != 0)
    let keys = try await keys()
    let folder = try await sandbox.coffer("audit", keys, "--html", "no/such/page.html")
    #expect(folder.status == 1 && folder.errors.contains("no such file"), "\(folder.errors)")
  }
}
