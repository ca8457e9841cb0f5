import Coffer
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@Suite("The location of the store")
struct StoreTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test(
    "Reading never creates a store",
    arguments: [
      ["get", "k"], ["ls"], ["watch"], ["info"], ["verify"], ["rm", "k"], ["rm", "--prefix", "k", "--yes"],
    ])
  func missing(_ command: [String]) async throws {
    let line = "coffer \(command.joined(separator: " ")) --store folder/none.db"
    let ended = try await sandbox.bash("\(line); s=$?; \(line) --json; exit $s")
    #expect(ended.status == 3 && ended.output.isEmpty)
    #expect(ended.errors.split(separator: "\n").count == 2)
    #expect(ended.errors.hasPrefix("coffer: There is no store at this path."))
    let advice = "Check the path; 'coffer set KEY VALUE' creates it."
    #expect(ended.errors.contains(" \(advice)\n") && ended.errors.contains("\"advice\":\"\(advice)\""))
    #expect(!sandbox.exists("folder") && !sandbox.exists("store.db"))
  }

  @Test("The default follows XDG_DATA_HOME, then HOME")
  func defaults() async throws {
    let data = [(name: "COFFER_STORE", value: nil), (name: "XDG_DATA_HOME", value: sandbox.path("data") as String?)]
    #expect(try await sandbox.coffer("set", "a", "1", environment: data).status == 0)
    #expect(sandbox.exists("data/coffer/coffer.db"))
    let home = [(name: "COFFER_STORE", value: "" as String?), (name: "XDG_DATA_HOME", value: "relative")]
    #expect(try await sandbox.coffer("set", "a", "1", environment: home).status == 0)
    #expect(sandbox.exists(".local/share/coffer/coffer.db"))
    let homeless = [(name: "COFFER_STORE", value: nil as String?), (name: "HOME", value: nil)]
    let nowhere = try await sandbox.coffer("ls", environment: homeless)
    #expect(nowhere.status == 2 && nowhere.errors.contains("--store PATH"))
  }

  @Test("--store overrides the environment, before or after the command, and takes sqlite:")
  func option() async throws {
    try await sandbox.coffer("--store", "one.db", "set", "a", "1")
    #expect(try await sandbox.coffer("get", "a", "--store=sqlite:one.db").text == "1")
    try await sandbox.coffer("set", "a", "2", "--store", "./with:colon.db")
    #expect(sandbox.exists("with:colon.db") && !sandbox.exists("store.db"))
  }

  @Test("memory: lasts for one command")
  func memory() async throws {
    #expect(try await sandbox.coffer("set", "a", "1", "--store", "memory:").status == 0)
    let list = try await sandbox.coffer("ls", "--store", "memory:")
    #expect(list.status == 0 && list.output.isEmpty)
    let info = try await sandbox.coffer("info", "--store", "memory:", "--json").json()
    #expect(info["format"] as? String == "memory" && info["keys"] as? Int == 0)
  }

  @Test("An unknown kind of store is named, with the known ones; what follows it is not")
  func unknownScheme() async throws {
    let ended = try await sandbox.coffer("ls", "--store", "mysql://user:secret@host")
    #expect(ended.status == 2 && !ended.errors.contains("secret"))
    let expected =
      "coffer: 'mysql:' is not a kind of store; known kinds are sqlite:, file:, prefs:, keychain:, sealed:, "
      + "encrypted:, memory:, postgresql:."
    #expect(ended.errors.hasPrefix(expected))
  }

  @Test("Directories, other files and other databases are not stores")
  func notAStore() async throws {
    let directory = try await sandbox.coffer("set", "a", "1", "--store", ".", "--json")
    #expect(directory.status == 1)
    #expect(try directory.errorJSON()["code"] as? String == "notAStore")
    try sandbox.write(Data(repeating: 0x41, count: 10_000), to: "text")
    let file = try await sandbox.coffer("ls", "--store", "text", "--json")
    #expect(file.status == 1)
    #expect(try file.errorJSON()["code"] as? String == "notAStore")
    try sql("CREATE TABLE t (x)", on: sandbox.path("other.db"))
    #expect(try await sandbox.coffer("set", "a", "1", "--store", "other.db").status == 1)
    let unwritable = try await sandbox.coffer("set", "a", "1", "--store", "/proc/x/store.db")
    #expect(unwritable.status != 0 && unwritable.errors.split(separator: "\n").count == 1)
    #expect(unwritable.errors.contains("/proc/x"))
  }

  @Test("info describes the store")
  func info() async throws {
    for index in 0..<3 { try await sandbox.coffer("set", "k\(index)", "value") }
    let json = try await sandbox.coffer("info", "--json").json()
    #expect(json["path"] as? String == sandbox.storePath && json["format"] as? String == "sqlite")
    #expect(json["keys"] as? Int == 3 && json["valueBytes"] as? Int == 15 && json["revision"] as? Int == 3)
    #expect(json["journal"] as? NSDictionary == ["first": 1, "last": 3])
    #expect(json["databaseBytes"] as? Int ?? 0 > 0)
    #expect((json["capabilities"] as? [String])?.contains("replay") == true)
    let text = try await sandbox.coffer("info").lines
    #expect(text.contains("Keys      3") && text.contains("Journal   revisions 1 to 3"))
  }

  @Test("info and doctor name the process that holds the log back")
  func heldLog() async throws {
    try await sandbox.coffer("set", "k", "value")
    var configuration = SQLiteEngine.Configuration()
    configuration.createsIfMissing = false
    let engine = try await SQLiteEngine.open(at: sandbox.storePath, configuration: configuration)
    let (info, doctor, text) = try await engine.withSnapshot { snapshot in
      _ = try await snapshot.page(prefix: nil, after: nil, limit: 1)
      try await engine.commit(WriteBatch([.put(KeyName("large"), Data(count: 17 << 20))]), from: StoreOrigin())
      return (
        try await sandbox.coffer("info", "--json"),
        try await sandbox.coffer("doctor", sandbox.storePath), try await sandbox.coffer("info").text
      )
    }
    let log = try #require(info.json()["log"] as? NSDictionary)
    let readers = try #require(log["readers"] as? [NSDictionary])
    #expect(readers.map { $0["process"] as? Int } == [Int(getpid())])
    #expect(log["uncopied"] as? Int ?? 0 > 4_000)
    #expect(text.contains("held back by process \(getpid()) ("), "\(text)")
    #expect(doctor.text.contains("process \(getpid()) ("), "\(doctor.text)")
    try await engine.close()
  }
}
