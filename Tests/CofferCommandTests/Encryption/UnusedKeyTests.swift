import CofferTestSupport
import Foundation
import Testing

/// Tests of keys that a command is given, and that no store of it needs.
@Suite("Keys that no store needs", .serialized)
struct UnusedKeyTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("A value for which a key was given is never stored in plain")
  func set() async throws {
    let words = try sandbox.makePassphrase()
    for options in [
      ["--key-file", key], ["--passphrase-file", words], ["--encrypted"], ["--encrypted", "--key-file", key],
    ] {
      for store in ["ap.db", "file:notes", "memory:"] {
        let line = options.joined(separator: " ")
        let ended = try await sandbox.bash("printf s3cret | coffer set token - --store \(store) \(line)")
        #expect(ended.status == 1 && ended.errors.contains("The store is not encrypted."), "\(ended.errors)")
        #expect(ended.errors.replacing("\n", with: " ").contains("encrypted:STORE"), "\(ended.errors)")
      }
      #expect(!sandbox.exists("ap.db") && !sandbox.exists("notes"))
    }
    try await sandbox.coffer("set", "a", "1")
    #expect(try await sandbox.coffer("set", "token", "s3cret", "--key-file", key).status == 1)
    #expect(try await sandbox.coffer("ls", "--key-file", key).lines == ["a"])
    #expect(try await sandbox.coffer("set", "token", "1", "--store", "encrypted:ap.db", "--key-file", key).status == 0)
  }

  @Test("A copy whose key protects nothing is refused before TO is created")
  func copy() async throws {
    let new = try sandbox.makeKey("new.key")
    try await sandbox.coffer("set", "a", "1")
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:from.db", "--key-file", key)
    for line in [
      "store.db to.db --key-file app.key", "store.db to.db --to-key-file app.key",
      "from.db to.db --decrypt --key-file app.key --to-key-file new.key",
    ] {
      let ended = try await sandbox.bash("coffer cp \(line)")
      #expect(ended.status == 1 && ended.errors.contains("The store is not encrypted."), "\(line): \(ended.errors)")
      #expect(!sandbox.exists("to.db"))
    }
    #expect(try await sandbox.coffer("cp", "from.db", "to.db", "--decrypt", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("cp", "store.db", "encrypted:b.db", "--to-key-file", new).status == 0)
  }

  @Test("The credentials of the service are those of the present key, never of a new one")
  func rekey() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    for name in ["coffer-passphrase", "coffer-key"] {
      let folder = sandbox.url.appendingPathComponent("of-\(name)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      try FileManager.default.copyItem(atPath: key, toPath: folder.appendingPathComponent(name).path)
      let ended = try await sandbox.coffer(
        "rekey", "store.db", "--key-file", key,
        environment: neverAsk + [(name: "CREDENTIALS_DIRECTORY", value: folder.path)])
      #expect(ended.status == 1 && ended.errors.contains("none was given"), "\(ended.errors)")
      #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
    }
  }

  @Test("A key of the kind that another store needs is no problem of a healthy store")
  func doctor() async throws {
    let words = try sandbox.makePassphrase()
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:a.db", "--key-file", key)
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:b.db", "--passphrase-file", words)
    let one = try await sandbox.coffer("doctor", "a.db", "b.db", "--key-file", key)
    #expect(one.status == 0 && one.text.contains("under a passphrase; no key was given"), "\(one.text)")
    let both = try await sandbox.coffer("doctor", "a.db", "b.db", "--key-file", key, "--passphrase-file", words)
    #expect(both.status == 0 && !both.text.contains("no key was given"), "\(both.text)")
    let copied = try await sandbox.coffer("cp", "b.db", "encrypted:c.db", "--key-file", key, environment: neverAsk)
    #expect(copied.status == 1 && copied.errors.contains("none was given"), "\(copied.errors)")
    let all = try await sandbox.coffer("cp", "b.db", "a.db", "--key-file", key, "--passphrase-file", words)
    #expect(all.status == 0, "\(all.errors)")
  }
}
