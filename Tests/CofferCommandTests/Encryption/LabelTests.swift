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
      #expect(ended.status == 1 && ended.words.contains("another label"), "\(line): \(ended.errors)")
      #expect(ended.words.contains("--label") && !ended.words.contains("EncryptionConfiguration"), "\(ended.errors)")
    }
    #expect(try await sandbox.coffer("get", "token", "--store", "b.db", "--key-file", key, "--label", "a").text == "a")
    let doctor = try await sandbox.coffer("doctor", "b.db", "--key-file", key, "--label", "b")
    #expect(doctor.status == 1 && doctor.text.contains("another label"), "\(doctor.text)")
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

  @Test("A router's store opens without the option, and no longer if it was put in place of another")
  func router() async throws {
    for name in ["a.db", "b.db"] {
      let location = StoreLocation.encrypted(.sqlite(path: sandbox.path(name)))
      var options = StoreOptions()
      options.encryption.key = .file(key)
      let engine = try await location.open(options)
      try await engine.commit(WriteBatch([.put("token", Data(name.utf8))]), from: StoreOrigin())
      try await engine.close()
    }
    let read = try await sandbox.coffer("get", "token", "--store", "a.db", "--key-file", key)
    #expect(read.text == "a.db", "\(read.errors)")
    try FileManager.default.removeItem(atPath: sandbox.path("b.db"))
    try FileManager.default.copyItem(atPath: sandbox.path("a.db"), toPath: sandbox.path("b.db"))
    let exchanged = try await sandbox.coffer("get", "token", "--store", "b.db", "--key-file", key)
    #expect(exchanged.status == 1 && exchanged.words.contains("another label"), "\(exchanged.errors)")
    let named = try await sandbox.coffer(
      "get", "token", "--store", "b.db", "--key-file", key, "--label", "sqlite:a.db")
    #expect(named.text == "a.db", "\(named.errors)")
  }
}
