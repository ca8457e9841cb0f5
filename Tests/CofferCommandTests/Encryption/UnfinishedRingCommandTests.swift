import Coffer
import CofferEncryption
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

/// Commands on a store whose key ring is of the time when it was being encrypted or decrypted.
@Suite("commands on a store with an unfinished key ring", .serialized)
struct UnfinishedRingCommandTests {
  let sandbox: Sandbox
  let key: String

  init() async throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
  }

  /// Changes the phase of the key ring, as somebody does who puts back an older one.
  private func put(_ phase: KeyRing.Phase) async throws {
    let plain = try await SQLiteEngine.open(at: sandbox.storePath)
    let store = try KeyRingStore(plain)
    let open = try await store.open(with: .file(key), settings: EncryptionSettings(), ifMissing: .refuse)
    _ = try await store.update(open) { $0.phase = phase }
    try await plain.close()
  }

  @Test(
    "Nothing is read or written, and what was begun is finished",
    arguments: [KeyRing.Phase.encrypting, .decrypting])
  func planted(_ phase: KeyRing.Phase) async throws {
    try await put(phase)
    try await sandbox.coffer("set", "planted", "2", "--store", "plain.db")
    let before = try await sandbox.contents("store.db")
    for line in [
      "set token s3cret --store encrypted:store.db", "set token s3cret", "get a", "get a --read-only",
      "cp plain.db store.db", "cp store.db encrypted:other.db", "rotate store.db", "shred store.db --yes",
      "rekey store.db --to-key-file app.key",
    ] {
      let ended = try await sandbox.bash("coffer \(line) --key-file app.key")
      #expect(ended.status == 1 && ended.words.contains("is not finished"), "\(line): \(ended.errors)")
      #expect(ended.words.contains("'coffer encrypt STORE'") && ended.words.contains("older key ring"), "\(line)")
    }
    #expect(try await sandbox.contents("store.db") == before)
    let word = phase == .encrypting ? "encryption" : "decryption"
    for line in ["verify", "doctor store.db", "keys store.db", "info"] {
      let ended = try await sandbox.bash("coffer \(line) --key-file app.key")
      let words = (ended.text + ended.errors).replacing("\n", with: " ")
      #expect(ended.status == 1 && words.contains("The \(word) of the store is not finished"), "\(line): \(words)")
    }
    #expect(try await sandbox.coffer("encrypt", "store.db", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
    try await put(phase)
    #expect(try await sandbox.coffer("decrypt", "store.db", "--yes", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "a").text == "1")
  }

  @Test("A value is removed, which stores nothing in plain", arguments: [KeyRing.Phase.encrypting, .decrypting])
  func removal(_ phase: KeyRing.Phase) async throws {
    for name in ["b/1", "b/2"] { try await sandbox.coffer("set", name, "1", "--key-file", key) }
    try await put(phase)
    for line in ["rm a", "rm --prefix b/ --yes"] {
      let ended = try await sandbox.bash("coffer \(line) --key-file app.key")
      #expect(ended.status == 0, "\(line): \(ended.errors)")
    }
    #expect(try await sandbox.contents("store.db").isEmpty)
    #expect(try await sandbox.coffer("set", "a", "1", "--key-file", key).words.contains("is not finished"))
  }
}
