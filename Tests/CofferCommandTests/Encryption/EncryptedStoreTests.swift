import Coffer
import CofferCore
import CofferTestSupport
import Foundation
import Testing

/// Tests of the commands on stores whose values are all encrypted.
@Suite("Encrypted stores", .serialized)
struct EncryptedStoreTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("A store is recognized as encrypted, and every command works with its key")
  func commands() async throws {
    try await sandbox.coffer("set", "theme", "darkest-blue")
    let made = try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    #expect(made.status == 0 && made.errors.hasPrefix("Encrypted 1 value (12 B) in"), "\(made.errors)")
    #expect(try await sandbox.coffer("get", "theme", "--key-file", key).text == "darkest-blue")
    #expect(try await sandbox.coffer("set", "other", "purple-rain", "--key-file", key).status == 0)
    #expect(try await !sandbox.contents("store.db").values.contains(Data("purple-rain".utf8)))
    #expect(
      try await sandbox.coffer("get", "other", "--store", "encrypted:store.db", "--key-file", key).text == "purple-rain"
    )
    #expect(
      try await sandbox.coffer("rm", "other", "--key-file", key, "--json").json()["removed"] as? [String] == ["other"])
    let long = try await sandbox.coffer("ls", "--long", "--key-file", key)
    #expect(long.lines == ["      12 B         \(try revision(of: long))  encrypted   theme"], "\(long.text)")
    let info = try await sandbox.coffer("info", "--json", "--key-file", key).json()["encryption"] as? NSDictionary
    #expect(info?["opened"] as? Bool == true && info?["cipher"] as? String == "AES-256-GCM")
    #expect(info?["key"] as? String == "material")
    let verified = try await sandbox.coffer("verify", "--json", "--key-file", key).json()
    #expect(verified["checked"] as? Int == 1 && verified["unopened"] as? Int == 0)
    let watched = try await sandbox.coffer("watch", "--since", "0", "--count", "1", "--json", "--key-file", key)
    #expect(try watched.json()["key"] as? String == "theme")
    #expect(try await sandbox.coffer("quarantine", "list", "--key-file", key).status == 0)
  }

  private func revision(of ended: EndedProgram) throws -> String {
    try #require(ended.lines.first?.split(separator: " ").dropFirst(2).first.map(String.init))
  }

  @Test("Without the key: names, sizes and checksums, but no values")
  func keyless() async throws {
    try await sandbox.coffer("set", "theme", "dark")
    try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    let listed = try await sandbox.coffer("ls", "--json")
    #expect(try listed.json()["encrypted"] as? Bool == true && listed.json()["size"] as? Int == 4, "\(listed.text)")
    #expect(try await sandbox.coffer("ls").text == "theme\n")
    let info = try await sandbox.coffer("info")
    #expect(info.status == 0 && info.text.contains("all values are encrypted, under key material; no key was given"))
    let verified = try await sandbox.coffer("verify")
    #expect(
      verified.status == 0 && verified.errors.contains("1 value is encrypted and not opened"), "\(verified.errors)")
    for arguments in [
      ["get", "theme"], ["set", "theme", "x"], ["rm", "theme"], ["keys", "store.db"], ["rotate", "store.db"],
    ] {
      let line = "coffer " + arguments.joined(separator: " ")
      let ended = try await sandbox.bash(line)
      #expect(
        ended.status == 1 && ended.errors.contains("The store is encrypted, and no key was given."), "\(ended.errors)")
      #expect(ended.errors.replacing("\n", with: " ").contains("--key-file PATH"), "\(ended.errors)")
    }
    #expect(try await sandbox.coffer("get", "theme", "--json").errorJSON()["code"] as? String == "keyMissing")
    #expect(try await sandbox.coffer("get", "theme", "--key-file", key).text == "dark")
  }

  @Test("Hidden names are listed with the key only")
  func hiddenNames() async throws {
    try await sandbox.coffer("set", "very-secret-name", "dark")
    let made = try await sandbox.coffer(
      "encrypt", "store.db", "--hide-names", "--pad", "--cipher", "chacha20", "--key-file", key)
    #expect(made.status == 0, "\(made.errors)")
    let refused = try await sandbox.coffer("ls")
    #expect(refused.status == 1 && refused.output.isEmpty, "\(refused.text)")
    #expect(try await sandbox.coffer("ls", "--key-file", key).text == "very-secret-name\n")
    #expect(try await sandbox.coffer("get", "very-secret-name", "--key-file", key).text == "dark")
    let keys = try await sandbox.coffer("keys", "store.db", "--key-file", key)
    for text in ["ChaCha20-Poly1305", "hidden", "padded"] { #expect(keys.text.contains(text), "\(keys.text)") }
    // The manner never changes, and repeating it is no error.
    let other = try await sandbox.coffer("encrypt", "store.db", "--pad", "--key-file", key)
    #expect(other.status == 1 && other.errors.contains("in another manner"), "\(other.errors)")
    let same = try await sandbox.coffer(
      "encrypt", "store.db", "--hide-names", "--pad", "--cipher", "chacha20", "--key-file", key)
    #expect(same.status == 0, "\(same.errors)")
  }

  @Test("A new store is encrypted on request, and none is left behind if the key is missing")
  func creation() async throws {
    let failed = try await sandbox.coffer(
      "set", "a", "1", "--store", "encrypted:new.db", "--key-file", sandbox.path("none"))
    #expect(failed.status == 2 && failed.errors.contains("there is no file"), "\(failed.errors)")
    #expect(!sandbox.exists("new.db"))
    let unasked = try await sandbox.coffer("set", "a", "1", "--store", "encrypted:new.db", environment: neverAsk)
    #expect(unasked.status == 1 && !sandbox.exists("new.db"), "\(unasked.errors)")
    let made = try await sandbox.coffer(
      "set", "a", "unmistakable", "--store", "encrypted:new.db", "--key-file", key)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try !sandbox.stores("unmistakable", in: "new.db"))
    #expect(try await sandbox.coffer("get", "a", "--store", "new.db", "--key-file", key).text == "unmistakable")
    try await sandbox.coffer("set", "a", "1")
    let plain = try await sandbox.coffer("get", "a", "--store", "encrypted:store.db", "--key-file", key)
    #expect(plain.status == 1 && plain.errors.contains("The store is not encrypted."), "\(plain.errors)")
    let full = try await sandbox.coffer("set", "b", "1", "--store", "encrypted:store.db", "--key-file", key)
    #expect(full.status == 1 && full.errors.contains("holds values and has no key ring"), "\(full.errors)")
  }

  @Test("Files and preferences", arguments: ["file:notes", "prefs:com.example.notes"])
  func slots(_ store: String) async throws {
    #expect(try await sandbox.coffer("set", "a", "unmistakable", "--store", store).status == 0)
    let made = try await sandbox.coffer("encrypt", store, "--key-file", key)
    #expect(made.status == 0, "\(made.errors)")
    #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", key).text == "unmistakable")
    #expect(try await sandbox.coffer("set", "b", "unmistakable", "--store", store, "--key-file", key).status == 0)
    #expect(try !sandbox.stores("unmistakable", in: "notes/b"))
    #expect(try await sandbox.coffer("ls", "--store", store).lines == ["a", "b"])
    #expect(try await sandbox.coffer("verify", "--store", store, "--key-file", key).status == 0)
    let findings = try await sandbox.coffer("doctor", store, "--key-file", key)
    #expect(findings.text.contains("all values are encrypted, under key material, AES-256-GCM"), "\(findings.text)")
    #expect(try await sandbox.coffer("decrypt", store, "--yes", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "b", "--store", store).text == "unmistakable")
  }

  @Test("A backup keeps the encrypted form, byte for byte, and needs no key")
  func backup() async throws {
    for store in ["store.db", "file:notes"] {
      try await sandbox.coffer("set", "a", "unmistakable", "--store", "encrypted:\(store)", "--key-file", key)
      let made = try await sandbox.coffer("backup", "copy.db", "--overwrite", "--store", store)
      #expect(made.status == 0, "\(made.errors)")
      #expect(try !sandbox.stores("unmistakable", in: "copy.db"))
      let envelope = try await sandbox.contents("copy.db")["a"]
      if store == "store.db" { #expect(try await sandbox.contents("store.db")["a"] == envelope) }
      try await sandbox.coffer("set", "a", "other", "--store", store, "--key-file", key)
      let restored = try await sandbox.coffer("restore", "copy.db", "--yes", "--discard", "--store", store)
      #expect(restored.status == 0, "\(restored.errors)")
      #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", key).text == "unmistakable")
    }
  }

  @Test("A value whose key ring is gone is never printed as it is stored")
  func lostRing() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    let base = try await SQLiteEngine.open(at: sandbox.storePath)
    for name in ["encryption", "encryption.copy"] {
      try await base.commit(WriteBatch([.deleteRecord(SystemRecord.Name(KeyName(name)))]), from: StoreOrigin())
    }
    try await base.close()
    let ended = try await sandbox.coffer("get", "a")
    #expect(ended.status == 1 && ended.output.isEmpty && ended.errors.contains("key ring was lost"), "\(ended.errors)")
    let copied = try await sandbox.coffer("cp", "store.db", "to.db", "--json")
    #expect(copied.status == 1)
    #expect(try copied.json()["copied"] as? Int == 0)
    #expect(try await sandbox.coffer("encrypt", "store.db", "--key-file", key).status == 1)
  }
}
