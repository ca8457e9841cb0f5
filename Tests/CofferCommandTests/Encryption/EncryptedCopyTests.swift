import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite("cp of encrypted stores", .serialized)
struct EncryptedCopyTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("Values are copied into a plain store only with --decrypt")
  func plain() async throws {
    try await sandbox.coffer("set", "a", "unmistakable", "--store", "encrypted:from.db", "--key-file", key)
    let refused = try await sandbox.coffer("cp", "from.db", "to.db", "--key-file", key)
    #expect(refused.status == 1 && refused.words.contains("TO does not"), "\(refused.errors)")
    #expect(!sandbox.exists("to.db"))
    try await sandbox.coffer("set", "b", "1", "--store", "to.db")
    #expect(try await sandbox.coffer("cp", "from.db", "to.db", "--key-file", key).status == 1)
    #expect(try await sandbox.coffer("ls", "--store", "to.db").lines == ["b"])
    let copied = try await sandbox.coffer("cp", "from.db", "to.db", "--decrypt", "--key-file", key)
    #expect(copied.status == 0, "\(copied.errors)")
    #expect(try await sandbox.coffer("get", "a", "--store", "to.db").text == "unmistakable")
    #expect(try await sandbox.coffer("cp", "from.db", "memory:", "--key-file", key).status == 0)
  }

  @Test("Values are sealed again under the key of an encrypted store")
  func sealed() async throws {
    let (new, words) = (try sandbox.makeKey("new.key"), try sandbox.makePassphrase())
    try await sandbox.coffer("set", "secret-name", "unmistakable", "--store", "encrypted:from.db", "--key-file", key)
    let copied = try await sandbox.coffer(
      "cp", "from.db", "encrypted:to.db", "--hide-names", "--key-file", key, "--to-key-file", new)
    #expect(copied.status == 0, "\(copied.errors)")
    #expect(try !sandbox.stores("secret-name", in: "to.db") && !sandbox.stores("unmistakable", in: "to.db"))
    #expect(
      try await sandbox.coffer("get", "secret-name", "--store", "to.db", "--key-file", new).text == "unmistakable")
    #expect(try await sandbox.coffer("get", "secret-name", "--store", "to.db", "--key-file", key).status == 1)
    // The same key for both, a passphrase for TO, and from plain values.
    #expect(try await sandbox.coffer("cp", "from.db", "encrypted:same.db", "--key-file", key).status == 0)
    let passed = try await sandbox.coffer(
      "cp", "from.db", "encrypted:file:notes", "--key-file", key, "--to-passphrase-file", words)
    #expect(passed.status == 0, "\(passed.errors)")
    #expect(
      try await sandbox.coffer("get", "secret-name", "--store", "file:notes", "--passphrase-file", words).text
        == "unmistakable")
    try await sandbox.coffer("set", "p", "plain", "--store", "plain.db")
    #expect(try await sandbox.coffer("cp", "plain.db", "same.db", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "p", "--store", "same.db", "--key-file", key).text == "plain")
    #expect(try await sandbox.coffer("cp", "plain.db", "to2.db", "--pad").status == 2)
  }

  @Test("The secrets of a sealed file become plain only with --decrypt, and a key is never left out")
  func secrets() async throws {
    let words = try sandbox.makePassphrase()
    let made = try await sandbox.bash(
      "printf unmistakable | coffer set a - --store sealed:s --passphrase-file \(words)")
    try #require(made.status == 0, "\(made.errors)")
    try await sandbox.coffer("set", "b", "1", "--store", "there.db")
    for target in ["to.db", "there.db", "file:notes"] {
      let refused = try await sandbox.coffer("cp", "sealed:s", target, "--passphrase-file", words)
      #expect(refused.status == 1 && refused.words.contains("TO does not"), "\(refused.errors)")
    }
    // The key is of no use for FROM, so it is meant for TO.
    let keyed = try await sandbox.coffer(
      "cp", "sealed:s", "to.db", "--decrypt", "--key-file", key, "--passphrase-file", words)
    #expect(keyed.status == 1 && keyed.words.contains("The store is not encrypted."), "\(keyed.errors)")
    #expect(!sandbox.exists("to.db") && !sandbox.exists("notes"))
    #expect(try await sandbox.coffer("ls", "--store", "there.db").lines == ["b"])
    // A protected TO and a dry run take them.
    for target in ["encrypted:e.db", "memory:"] {
      let options = target == "memory:" ? "" : "--key-file \(key)"
      let copied = try await sandbox.bash("coffer cp sealed:s \(target) --passphrase-file \(words) \(options)")
      #expect(copied.status == 0, "\(target): \(copied.errors)")
    }
    #expect(try await sandbox.coffer("cp", "sealed:s", "to.db", "--decrypt", "--passphrase-file", words).status == 0)
    #expect(try await sandbox.coffer("get", "a", "--store", "to.db").text == "unmistakable")
  }

  @Test(
    "One source is the key of both stores, also if it can be read only once",
    arguments: [
      "cp from.db encrypted:to.db --key-file <(cat app.key)",
      "cp words.db encrypted:to.db --passphrase-file <(cat passphrase)",
      "cp sealed:s sealed:to.db --passphrase-file <(cat passphrase)",
      "doctor from.db from.db --key-file <(cat app.key)",
    ])
  func readOnce(_ line: String) async throws {
    let words = try sandbox.makePassphrase()
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:from.db", "--key-file", key)
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:words.db", "--passphrase-file", words)
    try await sandbox.bash("printf 1 | coffer set a - --store sealed:s --passphrase-file passphrase")
    let ended = try await sandbox.bash("coffer \(line)")
    #expect(ended.status == 0, "\(ended.errors)\(ended.text)")
    guard line.hasPrefix("cp") else { return }
    let (store, option) =
      line.contains("sealed:to")
      ? ("sealed:to.db", "--passphrase-file passphrase")
      : line.contains("pass") ? ("to.db", "--passphrase-file passphrase") : ("to.db", "--key-file app.key")
    #expect(try await sandbox.bash("coffer get a --store \(store) \(option)").text == "1")
  }

  @Test("A mixed store is copied as values, and refuses those of others")
  func mixed() async throws {
    try await sandbox.makeMixedStore(key: key)
    #expect(try await sandbox.coffer("cp", "store.db", "to.db", "--key-file", key).status == 1)
    #expect(try await sandbox.coffer("cp", "store.db", "to.db", "--decrypt", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "token", "--store", "to.db").text == "s3cret")
    for options in [[], ["--key-file", key]] {
      let back = try await sandbox.coffer(["cp", "to.db", "store.db"] + options)
      #expect(back.status == 1 && back.words.contains("only the values that its program declares"), "\(back.errors)")
    }
    #expect(try await sandbox.coffer("get", "token", "--key-file", key).text == "s3cret")
  }
}
