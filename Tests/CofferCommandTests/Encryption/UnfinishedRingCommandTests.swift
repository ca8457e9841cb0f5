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

  @Test("Plain values that an encryption finds in an encrypted store are reported")
  func unexpected() async throws {
    let first = try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    #expect(first.status == 0 && !first.words.contains("had been in plain"), "\(first.errors)")
    let plain = try await SQLiteEngine.open(at: sandbox.storePath)
    // As who edits the file can: the mark is removed meanwhile.
    for operation: WriteBatch.Operation in [
      .deleteRecord(.onlyEnvelopes), .put("planted", Data("2".utf8)), .putRecord(.onlyEnvelopes, Data()),
    ] { try await plain.commit(WriteBatch([operation]), from: StoreOrigin()) }
    try await plain.close()
    let read = try await sandbox.coffer("get", "planted", "--key-file", key)
    #expect(read.status == 1 && read.words.contains("stored in plain"), "\(read.errors)")
    let again = try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    #expect(again.status == 0 && again.words.contains("1 value had been in plain although"), "\(again.errors)")
    let json = try await sandbox.coffer("encrypt", "store.db", "--key-file", key, "--json").json()
    #expect(json["unexpected"] as? Int == 0)
    for phase in [KeyRing.Phase.encrypting, .decrypting] {
      try await put(phase)
      let ended = try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
      #expect(ended.status == 0 && ended.words.contains("cannot be told from the others"), "\(ended.errors)")
      try await put(phase)
      let unknown = try await sandbox.coffer("encrypt", "store.db", "--key-file", key, "--json").json()
      #expect(unknown["unexpected"] is NSNull)
    }
  }

  @Test("Beside a damaged value the others are encrypted and read", arguments: [false, true])
  func damagedPlainValue(hidesNames: Bool) async throws {
    let path = sandbox.path("plain.db")
    for name in ["bad", "other"] { try await sandbox.coffer("set", name, "1", "--store", path) }
    try sql("UPDATE coffer_values SET value = x'00ff' WHERE key = x'626164'", on: path)
    let hiding = hidesNames ? ["--hide-names"] : []
    let made = try await sandbox.coffer(["encrypt", path, "--key-file", key] + hiding)
    #expect(made.status == 1 && made.words.contains("'bad' stays as it is"), "\(made.errors)")
    #expect(made.words.contains("the store is encrypted") == !hidesNames, "\(made.errors)")
    // A damaged value under a plain name would keep hidden names from being listed.
    if !hidesNames {
      #expect(try await sandbox.coffer("get", "other", "--store", path, "--key-file", key).text == "1")
      #expect(try await sandbox.coffer("get", "bad", "--store", path, "--key-file", key).status == 1)
    }
    let removed = try await sandbox.coffer("rm", "bad", "--store", path, "--key-file", key)
    #expect(removed.status == 0, "\(removed.errors)")
    #expect(try await sandbox.coffer("encrypt", path, "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "other", "--store", path, "--key-file", key).text == "1")
    #expect(try await sandbox.coffer("verify", "--store", path, "--key-file", key).status == 0)
  }
}
