import CofferTestSupport
import Foundation
import Testing

@Suite("restore of encrypted stores", .serialized)
struct EncryptedRestoreTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("A plain backup replaces an encrypted store only with --decrypt", arguments: ["store.db", "file:notes"])
  func plain(_ store: String) async throws {
    try await sandbox.coffer("set", "a", "old", "--store", store)
    #expect(try await sandbox.coffer("backup", "plain.backup", "--store", store).status == 0)
    #expect(try await sandbox.coffer("encrypt", store, "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("backup", "sealed.backup", "--store", store).status == 0)
    for target in [store, "encrypted:\(store)", "encrypted:new.db"] {
      let refused = try await sandbox.coffer("restore", "plain.backup", "--yes", "--store", target)
      #expect(refused.status == 1 && refused.errors.contains("The backup is not encrypted"), "\(refused.errors)")
    }
    #expect(!sandbox.exists("new.db"))
    #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", key).text == "old")
    let none = try await sandbox.coffer("restore", "none.backup", "--yes", "--store", store)
    #expect(none.status != 0 && !none.errors.contains("is not encrypted"), "\(none.errors)")
    let restored = try await sandbox.coffer("restore", "plain.backup", "--yes", "--decrypt", "--store", store, "--json")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try restored.json()["encrypted"] as? Bool == false)
    #expect(try await sandbox.coffer("get", "a", "--store", store).text == "old")
    #expect(try await sandbox.coffer("encrypt", store, "--key-file", key).status == 0)
    let told = try await sandbox.coffer("restore", "plain.backup", "--yes", "--decrypt", "--store", store)
    #expect(told.status == 0 && told.words.contains("The store is in plain."), "\(told.errors)")
    let sealed = try await sandbox.coffer("restore", "sealed.backup", "--yes", "--store", store)
    #expect(
      sealed.status == 0 && sealed.words.contains("The store is encrypted, and opens with the key that"),
      "\(sealed.errors)")
    #expect(try await sandbox.coffer("get", "a", "--store", store).status == 1)
    #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", key).text == "old")
  }

  @Test("A key opens the backup of a store that is reached through a link", arguments: ["", "file:"])
  func linked(_ scheme: String) async throws {
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path("link.db"), withDestinationPath: sandbox.path("target.db"))
    try FileManager.default.createSymbolicLink(
      atPath: sandbox.path("directory"), withDestinationPath: sandbox.path(""))
    try await sandbox.coffer("set", "a", "old", "--store", "encrypted:\(scheme)target.db", "--key-file", key)
    for store in ["\(scheme)link.db", "\(scheme)directory/target.db"] {
      #expect(try await sandbox.coffer("backup", "b.backup", "--overwrite", "--store", store).status == 0)
      let restored = try await sandbox.coffer(
        "restore", "b.backup", "--yes", "--discard", "--store", store, "--key-file", key)
      #expect(restored.status == 0 && restored.words.contains("opens with the given key"), "\(restored.errors)")
      #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", key).text == "old")
    }
  }

  @Test("A torn store is no obstacle to its restoration")
  func torn() async throws {
    try await sandbox.coffer("set", "a", "old")
    #expect(try await sandbox.coffer("backup", "plain.backup").status == 0)
    try sandbox.write(Data("no database".utf8), to: "store.db")
    #expect(try await sandbox.coffer("restore", "plain.backup", "--yes").status == 0)
    #expect(try await sandbox.coffer("get", "a").text == "old")
  }

  @Test("A store that cannot be read is replaced, and it is said that it may have been encrypted")
  func unreadable() async throws {
    try await sandbox.coffer("set", "a", "old", "--store", "plain.db")
    #expect(try await sandbox.coffer("backup", "plain.backup", "--store", "plain.db").status == 0)
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    var file = try sandbox.read("store.db")
    file.replaceSubrange(100..<4_096, with: Data(repeating: 0xFF, count: 3_996))
    try sandbox.write(file, to: "store.db")
    let restored = try await sandbox.coffer("restore", "plain.backup", "--yes")
    #expect(restored.status == 0 && restored.words.contains("is not known"), "\(restored.errors)")
  }

  @Test("A key that is given has to open the backup, or nothing is replaced", arguments: ["store.db", "file:notes"])
  func otherKey(_ store: String) async throws {
    let new = try sandbox.makeKey("new.key")
    try await sandbox.coffer("set", "a", "old", "--store", "encrypted:\(store)", "--key-file", key)
    let wrong = try await sandbox.coffer("backup", "b.backup", "--store", store, "--key-file", new)
    #expect(wrong.status == 1 && wrong.words.contains("does not open") && !sandbox.exists("b.backup"))
    #expect(try await sandbox.coffer("backup", "b.backup", "--store", store, "--key-file", key).status == 0)
    let changed = try await sandbox.coffer("rekey", store, "--key-file", key, "--to-key-file", new)
    #expect(changed.status == 0, "\(changed.errors)")
    try await sandbox.coffer("set", "a", "new", "--store", store, "--key-file", new)
    let refused = try await sandbox.coffer(
      "restore", "b.backup", "--yes", "--discard", "--store", store, "--key-file", new)
    #expect(refused.status == 1 && refused.words.contains("does not open"), "\(refused.errors)")
    #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", new).text == "new")
    let restored = try await sandbox.coffer(
      "restore", "b.backup", "--yes", "--discard", "--store", store, "--key-file", key)
    #expect(restored.status == 0 && restored.words.contains("opens with the given key"), "\(restored.errors)")
    #expect(try await sandbox.coffer("get", "a", "--store", store, "--key-file", key).text == "old")
    // A key that protects nothing.
    try await sandbox.coffer("set", "a", "1", "--store", "plain.db")
    let plain = try await sandbox.coffer("backup", "p.backup", "--store", "plain.db", "--key-file", key)
    #expect(plain.status == 1 && !sandbox.exists("p.backup"), "\(plain.errors)")
    #expect(try await sandbox.coffer("backup", "p.backup", "--store", "plain.db").status == 0)
    let none = try await sandbox.coffer("restore", "p.backup", "--yes", "--store", "new.db", "--key-file", key)
    #expect(none.status == 1 && none.words.contains("a key was given") && !sandbox.exists("new.db"))
  }
}
