import Coffer
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

/// `--label`: stores under one key that cannot be exchanged.
@Suite("labels of stores", .serialized)
struct LabelTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("A store that was put in place of another is refused by every command with its label")
  func exchanged() async throws {
    for name in ["a", "b"] {
      let made = try await sandbox.coffer(
        "set", "token", name, "--store", "encrypted:\(name).db", "--key-file", key, "--label", name)
      #expect(made.status == 0, "\(made.errors)")
    }
    try FileManager.default.removeItem(atPath: sandbox.path("b.db"))
    try FileManager.default.copyItem(atPath: sandbox.path("a.db"), toPath: sandbox.path("b.db"))
    for line in [
      "get token --store b.db --label b", "set token 2 --store b.db --label b", "get token --store b.db",
      "rotate b.db --label b", "keys b.db --label b", "rekey b.db --label b --to-key-file app.key",
      "encrypt b.db --label b", "decrypt b.db --yes --label b", "verify --store b.db --label b",
      "cp b.db encrypted:c.db --label b",
    ] {
      let ended = try await sandbox.bash("coffer \(line) --key-file app.key")
      #expect(ended.status == 1 && ended.words.contains("has the label 'a', not"), "\(line): \(ended.errors)")
      #expect(
        ended.words.contains("--label") && !ended.words.contains("EncryptedEngine.Configuration"), "\(ended.errors)")
    }
    #expect(try await sandbox.coffer("get", "token", "--store", "b.db", "--key-file", key, "--label", "a").text == "a")
    let doctor = try await sandbox.coffer("doctor", "b.db", "--key-file", key, "--label", "b")
    #expect(doctor.status == 1 && doctor.text.contains("has the label 'a'"), "\(doctor.text)")
  }

  @Test("A store that was renamed opens with its label, and 'rekey' gives it the new one")
  func renamed() async throws {
    try await sandbox.coffer("set", "token", "1", "--store", "encrypted:old.db", "--key-file", key)
    try FileManager.default.moveItem(atPath: sandbox.path("old.db"), toPath: sandbox.path("new.db"))
    let refused = try await sandbox.bash("coffer get token --store new.db --key-file app.key")
    #expect(
      refused.status == 1 && refused.words.contains("has the label 'sqlite:old.db', not the label 'sqlite:new.db'")
        && refused.words.contains("coffer rekey STORE --label LABEL --to-label NEW"), "\(refused.errors)")
    let named = try await sandbox.bash("coffer get token --store new.db --key-file app.key --label sqlite:old.db")
    #expect(named.text == "1", "\(named.errors)")
    let changed = try await sandbox.bash(
      "coffer rekey new.db --key-file app.key --label sqlite:old.db --to-label sqlite:new.db")
    #expect(changed.status == 0 && changed.words.contains("'sqlite:new.db' from now on"), "\(changed.errors)")
    #expect(try await sandbox.bash("coffer get token --store new.db --key-file app.key").text == "1")
  }

  @Test("A backup is restored to its store, and to another name with its label")
  func restored() async throws {
    try await sandbox.coffer("set", "token", "1", "--store", "encrypted:a.db", "--key-file", key)
    for line in [
      "backup a.bak --store a.db --key-file app.key", "restore a.bak --yes --store ./a.db --key-file app.key",
      "get token --store a.db --key-file app.key", "get token --store a.bak --key-file app.key --label sqlite:a.db",
      "restore a.bak --yes --store b.db --key-file app.key --label sqlite:a.db",
      "get token --store b.db --key-file app.key --label sqlite:a.db",
    ] {
      let ended = try await sandbox.bash("coffer \(line)")
      #expect(ended.status == 0, "\(line): \(ended.errors)")
    }
    let refused = try await sandbox.bash("coffer restore a.bak --yes --store c.db --key-file app.key")
    #expect(refused.status == 1 && refused.words.contains("not the label 'sqlite:c.db'"), "\(refused.errors)")
    #expect(!sandbox.exists("c.db"))
  }

  @Test("'cp' has a label for each store, and 'rekey' changes it")
  func two() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key, "--label", "from")
    let copied = try await sandbox.bash(
      "coffer cp store.db encrypted:copy.db --key-file app.key --label from --to-label to")
    #expect(copied.status == 0, "\(copied.errors)")
    #expect(try await sandbox.bash("coffer get a --store copy.db --key-file app.key --label to").text == "1")
    let rekeyed = try await sandbox.bash(
      "coffer rekey copy.db --key-file app.key --label to --to-key-file app.key --to-label new")
    #expect(rekeyed.status == 0, "\(rekeyed.errors)")
    #expect(try await sandbox.bash("coffer get a --store copy.db --key-file app.key --label to").status == 1)
    #expect(try await sandbox.bash("coffer get a --store copy.db --key-file app.key --label new").text == "1")
  }
}
