import Coffer
import CofferEncryption
import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

@Suite("doctor on encrypted stores", .serialized)
struct EncryptionDoctorTests {
  let sandbox: Sandbox
  let key: String

  init() async throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
  }

  /// Changes the records of the key ring.
  private func change(_ names: [KeyName], _ change: (inout Data) -> Void) async throws {
    let base = try await SQLiteEngine.open(at: sandbox.storePath)
    for name in names {
      let record = SystemRecord.Name(name)
      var content = try #require(try await base.record(record)).content
      change(&content)
      try await base.commit(WriteBatch([.putRecord(record, content)]), from: StoreOrigin())
    }
    try await base.close()
  }

  @Test("With and without the key, and with a key that others can read")
  func keys() async throws {
    let without = try await sandbox.coffer("doctor", "store.db")
    #expect(without.status == 0, "\(without.text)")
    #expect(without.text.contains("all values are encrypted, under key material; no key was given"), "\(without.text)")
    let with = try await sandbox.coffer("doctor", "store.db", "--key-file", key)
    #expect(with.status == 0 && with.text.contains("AES-256-GCM, names in plain"), "\(with.text)")
    try #require(chmod(key, 0o644) == 0)
    let open = try await sandbox.coffer("doctor", "store.db", "--key-file", key)
    #expect(open.status == 1 && open.text.contains("Other users may read or change the key in"), "\(open.text)")
    let none = try await sandbox.coffer("doctor", "store.db", "--key-file", sandbox.path("none"))
    #expect(none.status == 1 && none.text.contains("The key cannot be read from"), "\(none.text)")
    #expect(none.text.contains("1 problem"), "\(none.text)")
    let words = try sandbox.makePassphrase()
    try #require(chmod(words, 0o644) == 0)
    try await sandbox.coffer("set", "a", "1", "--store", "plain.db")
    let readable = try await sandbox.coffer(
      "doctor", "plain.db", "store.db", "--passphrase-file", words, "--json"
    ).json()
    let found = (readable["findings"] as? [NSDictionary] ?? []).compactMap { $0["message"] as? String }
    #expect(found.filter { $0.contains("may read or change the passphrase in") }.count == 1, "\(found)")
    let wrong = try await sandbox.coffer("doctor", "store.db", "--key-file", try sandbox.makeKey("other"))
    #expect(wrong.status == 1 && wrong.text.contains("does not open the key ring"), "\(wrong.text)")
  }

  @Test("A key file of another user is a problem, unless the user is root")
  func owner() throws {
    let file = SecretFile(path: key, content: .key)
    let owner = getuid()
    #expect(file.findings(for: owner).isEmpty && file.findings(for: 0).isEmpty)
    let found = file.findings(for: owner + 1)
    // A file of root may be read by anybody who can.
    #expect(owner == 0 ? found.isEmpty : found.map(\.verdict) == [.problem], "\(found)")
    guard owner == 0 else { return }
    try #require(chown(key, 12_345, 12_345) == 0)
    #expect(file.findings(for: 0).isEmpty && file.findings(for: 12_345).isEmpty)
    #expect(file.findings(for: 12_346).first?.message.contains("belongs to another user") == true)
  }

  @Test("With the key, too, nothing is changed: a damaged record is reported and stays")
  func untouched() async throws {
    try await change(["encryption.copy"]) { $0[60] ^= 1 }
    let base = try await SQLiteEngine.open(at: sandbox.storePath)
    let before = base.latestRevision
    try await base.close()
    for _ in 0..<2 {
      let ended = try await sandbox.coffer("doctor", "store.db", "--key-file", key)
      #expect(ended.status == 0 && ended.text.contains("One of the two records of its key ring"), "\(ended.text)")
      #expect(ended.text.contains("AES-256-GCM"), "\(ended.text)")
    }
    let after = try await SQLiteEngine.open(at: sandbox.storePath)
    #expect(after.latestRevision == before)
    try await after.close()
  }

  @Test("A data key of more than a year")
  func upkeep() async throws {
    let old = Date() - 400 * 86_400
    var configuration = SQLiteEngine.Configuration()
    configuration.clock = StoreClock { old }
    let base = try await SQLiteEngine.open(at: sandbox.path("old.db"), configuration: configuration)
    let engine = try await EncryptedEngine.open(base, key: .file(key))
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    try await engine.close()
    let aged = try await sandbox.coffer("doctor", "old.db", "--key-file", key)
    #expect(aged.status == 0 && aged.text.contains("Its data key is 400 days old."), "\(aged.text)")
    #expect(aged.text.contains("coffer rotate") && aged.text.contains("old.db"), "\(aged.text)")
    #expect(try await sandbox.coffer("rotate", "old.db", "--key-file", key).status == 0)
    let young = try await sandbox.coffer("doctor", "old.db", "--key-file", key)
    #expect(young.status == 0 && !young.text.contains("days old"), "\(young.text)")
  }

  @Test("An audit says how a store is encrypted, and needs no key for names in plain")
  func audit() async throws {
    let keys = """
      {"format":1,"application":"shop","catalogs":[],"entries":[{"name":"a","type":"String","catalog":"c","domain":"d",\
      "store":"sqlite:\(sandbox.storePath)","security":"encrypted","serializer":"j","hasMigration":false,\
      "isSensitive":true,"owner":"o","description":"b","availability":"all","sync":"never","hasDefault":false}]}
      """
    try sandbox.write(Data(keys.utf8), to: "keys.json")
    let ended = try await sandbox.coffer("audit", "keys.json")
    #expect(ended.status == 0, "\(ended.errors)")
    #expect(ended.text.contains("  All values encrypted, key material, key ring not opened\n"), "\(ended.text)")
    let given = try await sandbox.coffer("audit", "keys.json", "--key-file", key)
    #expect(given.status == 0 && !given.text.contains("no key was given"), "\(given.text)")
    let json = try await sandbox.coffer("audit", "keys.json", "--json").json()
    let encryption = try #require((json["encryption"] as? [NSDictionary])?.first)
    #expect(encryption["coversAll"] as? Bool == true && encryption["source"] as? String == "keyMaterial", "\(json)")
    #expect((json["remarks"] as? [String])?.isEmpty == true)
    #expect(ended.text.contains("1 B"), "\(ended.text)")
  }

  @Test("A key ring that is damaged in one record is used and repaired, and one that is in both is reported")
  func damagedValue() async throws {
    try await change(["encryption.copy"]) { $0[60] ^= 1 }
    let warned = try await sandbox.coffer("doctor", "store.db")
    #expect(warned.status == 0 && warned.text.contains("One of the two records of its key ring"), "\(warned.text)")
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
    #expect(try await !sandbox.coffer("doctor", "store.db").text.contains("One of the two records"))
    try await change(["encryption", "encryption.copy"]) { $0[60] ^= 1 }
    for line in [
      "get a", "ls", "info", "verify", "keys store.db", "rotate store.db", "encrypt store.db", "doctor store.db",
    ] {
      let ended = try await sandbox.bash("coffer \(line) --key-file app.key")
      #expect(ended.status == 1, "\(line)")
      #expect((ended.errors + ended.text).contains("The key ring of the store is damaged."), "\(ended.errors)")
    }
    // Its backup can be made all the same.
    #expect(try await sandbox.coffer("backup", "copy.db").status == 0)
  }

  @Test("A key ring of a newer version is refused and not changed")
  func newer() async throws {
    try await change(["encryption", "encryption.copy"]) { content in
      content[8] = 9
      content = content.dropLast(32) + sha256(Data(content.dropLast(32)))
    }
    let before = try await sandbox.contents("store.db")
    for line in ["get a", "set b 1", "ls", "rotate store.db", "encrypt store.db", "doctor store.db"] {
      let ended = try await sandbox.bash("coffer \(line) --key-file app.key")
      #expect(ended.status == 1 && (ended.errors + ended.text).contains("newer version"), "\(line): \(ended.errors)")
    }
    #expect(try await sandbox.contents("store.db") == before)
  }
}
