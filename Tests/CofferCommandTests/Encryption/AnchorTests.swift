import Coffer
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

@Suite("The anchor of an encrypted store on the command line", .serialized)
struct AnchorTests {
  let sandbox: Sandbox
  let key: String
  let anchor: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
    anchor = sandbox.path("anchors/a")
  }

  /// Runs a command with the key and the anchor of the store.
  private func anchored(_ arguments: String...) async throws -> EndedProgram {
    let options = ["--key-file", key, "--anchor-file", anchor].map { "'\($0)'" }.joined(separator: " ")
    return try await sandbox.bash("coffer \(arguments.joined(separator: " ")) \(options)")
  }

  /// Makes a store with an anchor and returns its files of that moment; then sets another value.
  private func outdated() async throws -> Data {
    let made = try await anchored("set k old --store encrypted:store.db")
    #expect(made.status == 0, "\(made.errors)")
    let old = try sandbox.read("store.db")
    #expect(try await anchored("set k new").status == 0)
    return old
  }

  private func restore(_ old: Data) throws {
    for file in ["-wal", "-shm", "-wake", "-lock"] {
      try? FileManager.default.removeItem(atPath: sandbox.storePath + file)
    }
    try sandbox.write(old, to: "store.db")
  }

  /// Opens the store as an application does, with the anchor.
  private func open() async throws -> EncryptedEngine {
    var configuration = EncryptedEngine.Configuration()
    configuration.rollbackProtection = RollbackProtection(anchor: FileAnchor(URL(fileURLWithPath: anchor)))
    return try await EncryptedEngine.open(
      SQLiteEngine.open(at: sandbox.storePath), key: .file(key), configuration: configuration)
  }

  @Test("An older copy is refused with the command that accepts it, and nothing changes until it is accepted")
  func olderCopy() async throws {
    try restore(try await outdated())
    let refused = try await anchored("get k --json")
    #expect(refused.status == 1 && refused.output.isEmpty)
    let error = try refused.errorJSON()
    #expect(error["code"] as? String == "rolledBack")
    let advice = try #require(error["advice"] as? String)
    #expect(advice.contains("coffer verify --accept-rollback --anchor-file PATH"), "\(advice)")
    #expect(!advice.contains("EncryptedEngine"), "\(advice)")
    for line in ["ls", "info", "verify", "rm k", "set k 2", "keys store.db", "rotate store.db", "shred store.db --yes"]
    {
      let ended = try await anchored(line)
      #expect(ended.status == 1 && ended.errors.contains("older copy"), "\(line): \(ended.errors)")
    }
    let accepted = try await anchored("verify --accept-rollback --json").json()
    #expect((accepted["accepted"] as? NSDictionary)?["code"] as? String == "rolledBack", "\(accepted)")
    #expect(accepted["checked"] as? Int == 1)
    #expect(try await anchored("get k").text == "old")
    let again = try await anchored("verify --accept-rollback")
    #expect(again.status == 0 && again.errors.contains("There was nothing to accept"), "\(again.errors)")
    let engine = try await open()
    #expect(try await engine.entry("k")?.value == Data("old".utf8))
    try await engine.close()
  }

  @Test("A path without an anchor is an error, and a lost anchor is made anew on demand")
  func missingAnchor() async throws {
    let old = try await outdated()
    try FileManager.default.removeItem(atPath: anchor)
    let missing = try await anchored("get k")
    #expect(missing.status == 1 && missing.errors.contains("There is no anchor at"), "\(missing.errors)")
    #expect(!sandbox.exists("anchors/a"))
    let accepted = try await anchored("verify --accept-rollback")
    #expect(accepted.status == 0 && accepted.errors.contains("accepted as it is"), "\(accepted.errors)")
    #expect(try await anchored("get k").text == "new")
    try restore(old)
    #expect(try await anchored("get k").status == 1)
  }

  @Test("Without the option, info, keys and doctor state that the anchor was not compared")
  func notCompared() async throws {
    _ = try await outdated()
    for line in ["info", "info --key-file '\(key)'", "keys store.db --key-file '\(key)'"] {
      let text = try await sandbox.bash("coffer \(line)")
      #expect(text.status == 0 && text.text.contains("exists and was not compared"), "\(text.text)")
    }
    let doctor = try await sandbox.coffer("doctor", "store.db")
    #expect(doctor.status == 0 && doctor.text.contains("has an anchor, which was not compared"), "\(doctor.text)")
    let info = try await sandbox.coffer("info", "--json").json()
    #expect((info["encryption"] as? NSDictionary)?["anchor"] as? String == "notCompared")
    let compared = try await anchored("info --json").json()
    #expect((compared["encryption"] as? NSDictionary)?["anchor"] as? String == "compared")
    #expect(try await anchored("keys store.db --json").json()["anchor"] as? String == "compared")
    try await sandbox.coffer("set", "k", "1", "--store", "encrypted:other.db", "--key-file", key)
    let none = try await sandbox.coffer("info", "--store", "other.db", "--json").json()
    #expect((none["encryption"] as? NSDictionary)?["anchor"] is NSNull)
  }

  @Test("A store that was decrypted is refused by its anchor, until that is removed or the store is accepted")
  func decrypt() async throws {
    _ = try await outdated()
    let decrypted = try await anchored("decrypt store.db --yes")
    #expect(decrypted.status == 0, "\(decrypted.errors)")
    #expect(try await sandbox.coffer("get", "k").text == "new")
    #expect(try await anchored("encrypt store.db").errors.contains("no key ring"))
    #expect(try await anchored("encrypt store.db --accept-rollback").status == 0)
    #expect(try await anchored("get k").text == "new")
  }

  @Test("A store that is in plain although its anchor knows an encrypted one is encrypted on demand")
  func plainCopy() async throws {
    try await sandbox.coffer("set", "k", "plain")
    let plain = try sandbox.read("store.db")
    #expect(try await anchored("encrypt store.db").status == 0)
    try restore(plain)
    for line in ["get k", "encrypt store.db", "verify --accept-rollback"] {
      let refused = try await anchored(line)
      let words = refused.errors.replacing("\n", with: " ")
      #expect(refused.status == 1 && words.contains("no key ring"), "\(line): \(words)")
      #expect(words.contains("coffer encrypt with these options"), "\(line): \(words)")
    }
    let encrypted = try await anchored("encrypt store.db --accept-rollback")
    #expect(encrypted.status == 0, "\(encrypted.errors)")
    #expect(try await anchored("get k").text == "plain")
    let twice = try await anchored("encrypt store.db --accept-rollback")
    #expect(twice.status == 1 && twice.errors.contains("coffer verify"), "\(twice.errors)")
  }

  @Test("An accepted encryption whose anchor could not be written is continued by the same command")
  func interrupted() async throws {
    try await sandbox.coffer("set", "k", "plain")
    let plain = try sandbox.read("store.db")
    #expect(try await anchored("encrypt store.db").status == 0)
    try restore(plain)
    let (lock, aside) = (anchor + ".lock", anchor + ".aside")
    try FileManager.default.moveItem(atPath: lock, toPath: aside)
    try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
    #expect(try await anchored("encrypt store.db --accept-rollback").status == 1)
    try FileManager.default.removeItem(atPath: lock)
    let continued = try await anchored("encrypt store.db --accept-rollback")
    #expect(continued.status == 0, "\(continued.errors)")
    #expect(try await anchored("get k").text == "plain")
  }

  @Test(
    "What the options cannot do is an error",
    arguments: [
      ("verify --accept-rollback", 2, "--accept-rollback needs --anchor-file PATH"),
      ("verify --accept-rollback --anchor-file a --read-only", 2, "omit --read-only"),
      ("get k --anchor-file a --store sealed:s", 2, "--anchor-file is for stores that have a key ring"),
      ("set k 1 --anchor-file a", 1, "The store is not encrypted."),
      ("backup b --anchor-file a", 2, "'backup' has no option --anchor-file"),
    ])
  func contradictions(_ line: String, _ status: Int32, _ message: String) async throws {
    let ended = try await sandbox.bash("coffer \(line) </dev/null")
    #expect(ended.status == status && ended.errors.contains(message), "\(ended.errors)")
    #expect(!sandbox.exists("store.db") && !sandbox.exists("a"))
  }
}
