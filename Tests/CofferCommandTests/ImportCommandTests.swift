import Coffer
import CofferTestSupport
import Foundation
import Testing

/// Tests of `coffer import`.
@Suite("import", .serialized)
struct ImportCommandTests {
  private let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    try FileManager.default.createDirectory(atPath: sandbox.path("old"), withIntermediateDirectories: false)
    try sandbox.write(Data("\"John\"".utf8), to: "old/userName")
    try sandbox.write(Data(#"{"title":"n","count":2}"#.utf8), to: "old/ui.note")
    try sandbox.write(Data("{\"cut".utf8), to: "old/broken")
  }

  @Test("A dry run changes nothing, and reports what a run then does")
  func files() async throws {
    let options = ["old", "new.db", "--encoding", "json", "--map", "ui.*=ui/*", "--json"]
    let dry = try await sandbox.coffer(["import"] + options + ["--dry-run"])
    #expect(dry.status == 1 && !sandbox.exists("new.db"), "\(dry.errors)")
    let planned = try dry.json()
    #expect(
      planned["dryRun"] as? Bool == true && planned["imported"] as? Int == 2 && planned["unreadable"] as? Int == 1)

    let run = try await sandbox.coffer(["import"] + options)
    let report = try run.json()
    #expect(run.status == 1 && report["imported"] as? Int == 2 && report["removed"] as? Int == 0, "\(run.errors)")
    let values = try #require(report["values"] as? [[String: Any]])
    let broken = try #require(values.first { $0["name"] as? String == "broken" })
    #expect(broken["outcome"] as? String == "unreadable" && broken["reason"] is String)
    #expect(!run.output.contains(Data("John".utf8)))

    let location = try StoreLocation(sandbox.path("new.db"))
    let engine = try await location.open(StoreOptions())
    let store = TypedStore(engine: engine)
    #expect(try await store.load(String.self, for: "userName") == "John")
    #expect(try await engine.entry("ui/note")?.value == Data(#"{"title":"n","count":2}"#.utf8))
    try await engine.close()

    let again = try await sandbox.coffer("import", "old", "new.db", "--encoding", "json", "--map", "ui.*=ui/*")
    #expect(again.status == 1 && again.errors.contains("2 there already, 1 unreadable."), "\(again.errors)")
    #expect(again.errors.contains("'broken': it is not JSON; it may be truncated."), "\(again.errors)")
  }

  @Test("A dry run tells of values that look like base64 text, and of the encoding that decodes them")
  func base64() async throws {
    try FileManager.default.removeItem(atPath: sandbox.path("old/broken"))
    try sandbox.write(Data("\"AAE=\"".utf8), to: "old/token.a")
    let text = ["import", "old", "new.db", "--dry-run", "--encoding"]
    let asText = try await sandbox.coffer(text + ["json"])
    #expect(asText.status == 0, "\(asText.errors)")
    #expect(asText.words.contains("1 value of them would be stored as text that looks like base64"), "\(asText.errors)")
    #expect(asText.words.contains("; --encoding json-data stores the bytes of such text."), "\(asText.errors)")
    #expect(try await sandbox.coffer(text + ["json", "--json"]).json()["base64Texts"] as? Int == 1)
    let asBytes = try await sandbox.coffer(text + ["json-data", "--map", "token.*=t/*", "--only-mapped"])
    #expect(asBytes.status == 0 && !asBytes.words.contains("base64"), "\(asBytes.errors)")
  }

  @Test("A database without --table is refused with what to do")
  func unclear() async throws {
    _ = try await sandbox.coffer("set", "theme", "dark", "--store", "some.db")
    let database = try await sandbox.coffer("import", "some.db", "new.db")
    #expect(
      database.status == 1 && database.errors.contains("SQLite database, not a property list"), "\(database.errors)")
    #expect(database.errors.contains("Name its table"), "\(database.errors)")
    #expect(!sandbox.exists("new.db"))
  }

  @Test("Values of several encodings are taken in several runs; the first --map that matches counts")
  func encodings() async throws {
    try FileManager.default.removeItem(atPath: sandbox.path("old/broken"))
    try sandbox.write(Data("\"AAE=\"".utf8), to: "old/token.a")
    let base = ["import", "old", "new.db", "--remove"]
    let data = try await sandbox.coffer(
      base + ["--encoding", "json-data", "--only-mapped", "--map", "token.*=*/key", "--map", "token.a=other"])
    #expect(data.status == 0 && data.errors.contains("2 skipped"), "\(data.errors)")
    let rest = try await sandbox.coffer(base + ["--encoding", "json"])
    #expect(rest.status == 0, "\(rest.errors)")
    #expect(try await sandbox.coffer("ls", "--store", "new.db").text == "a/key\nui.note\nuserName\n")
    #expect(try await sandbox.coffer("get", "a/key", "--store", "new.db").output == Data([0, 1]))
    #expect(try await sandbox.coffer("get", "userName", "--store", "new.db").text == "John")
  }

  @Test(
    "Mistakes on the command line are explained",
    arguments: [
      (["old"], "needs a STORE"), (["old", "n.db", "--encoding", "xml"], "--encoding takes one of: bytes, json"),
      (["old", "n.db", "--map", "x"], "--map takes OLD=NEW"), (["old", "n.db", "--table", "t"], "--keys"),
      (["old", "n.db", "--map", "a=b*"], "A * in NEW"), (["old", "n.db", "--on-conflict", "x"], "refuse, keep"),
    ])
  func mistakes(_ arguments: [String], _ message: String) async throws {
    let ended = try await sandbox.coffer(["import"] + arguments)
    #expect(ended.status == 2 && ended.errors.contains(message), "\(ended.errors)")
    #expect(!sandbox.exists("n.db"))
  }

  @Test("A source that does not exist is not found, and no store is created")
  func missing() async throws {
    let ended = try await sandbox.coffer("import", "none", "n.db")
    #expect(ended.status == 3 && !sandbox.exists("n.db"), "\(ended.errors)")
  }

  @Test("An encrypted store imports values without a plain copy")
  func encrypted() async throws {
    let key = try sandbox.makeKey("app.key")
    try sandbox.write(Data("a secret word 4711".utf8), to: "old/secret")
    let run = try await sandbox.coffer("import", "old", "encrypted:new.db", "--key-file", key, "--remove")
    #expect(run.status == 0 && !sandbox.exists("old/secret"), "\(run.errors)")
    for name in try FileManager.default.contentsOfDirectory(atPath: sandbox.path(".")) where name.hasPrefix("new.db") {
      #expect(try !sandbox.read(name).contains(Data("a secret word 4711".utf8)), "\(name)")
    }
    #expect(
      try await sandbox.coffer("get", "secret", "--store", "new.db", "--key-file", key).text == "a secret word 4711")
  }

  @Test("A dry run compares with the store that exists", arguments: ["sqlite:new.db", "file:new"])
  func dryRun(_ store: String) async throws {
    _ = try await sandbox.coffer("set", "userName", "Jane", "--store", store)
    let dry = try await sandbox.coffer("import", "old", store, "--dry-run", "--remove", "--json")
    let report = try dry.json()
    #expect(dry.status == 1 && report["imported"] as? Int == 2 && report["conflicts"] as? Int == 1, "\(dry.errors)")
    #expect(sandbox.exists("old/userName") && sandbox.exists("old/ui.note"))
    #expect(try await sandbox.coffer("ls", "--store", store).text == "userName\n")
  }

  @Test("The file of the key is not removed, and a store of Coffer is no source")
  func refusals() async throws {
    let key = try sandbox.makeKey("old/app.key")
    let run = try await sandbox.coffer("import", "old", "encrypted:new.db", "--key-file", key, "--remove")
    #expect(run.status == 2 && sandbox.exists("old/app.key") && !sandbox.exists("new.db"), "\(run.errors)")
    _ = try await sandbox.coffer("set", "a", "1", "--store", "file:files")
    let store = try await sandbox.coffer("import", "files", "new.db", "--remove")
    #expect(store.status == 1 && sandbox.exists("files/a") && !sandbox.exists("new.db"), "\(store.errors)")
    let inside = try await sandbox.coffer("import", "old", "old/new.db")
    #expect(inside.status == 1 && !sandbox.exists("old/new.db"), "\(inside.errors)")
  }
}
