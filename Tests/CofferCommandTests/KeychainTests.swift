import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of the desktop's keyring from the command line, on a private bus.
@Suite(
  "The keychain", .blocking, .serialized,
  .enabled(if: PrivateKeyring.isInstalled, Comment(rawValue: PrivateKeyring.unavailabilityReason)))
struct KeychainTests {
  let sandbox: Sandbox
  let keyring: PrivateKeyring

  init() throws {
    sandbox = try Sandbox()
    keyring = try PrivateKeyring()
    try sandbox.write(Data("open sesame\n".utf8), to: "passphrase")
    try #require(chmod(sandbox.path("passphrase"), 0o600) == 0)
  }

  private func use(_ store: String) -> [(name: String, value: String?)] {
    keyring.environment.map { (name: $0.0, value: $0.1) } + [(name: "COFFER_STORE", value: store)]
  }

  @Test("Every command works")
  func commands() async throws {
    let keychain = use("keychain:com.example.shop")
    let set = try await sandbox.bash("printf s3cret | coffer set token -", environment: keychain)
    #expect(set.status == 0, "\(set.errors)")
    #expect(try await sandbox.coffer("get", "token", environment: keychain).text == "s3cret")
    #expect(try await sandbox.coffer("ls", environment: keychain).lines == ["token"])
    let since = try await sandbox.coffer("watch", "--since", "0", "--count", "1", "--json", environment: keychain)
    #expect(try since.json()["key"] as? String == "token")
    let info = try await sandbox.coffer("info", environment: keychain)
    #expect(info.status == 0 && info.lines.contains("Keys      1") && !info.text.contains("s3cret"), "\(info.text)")
    #expect(try await sandbox.coffer("verify", environment: keychain).status == 0)
    let refused = try await sandbox.coffer("cp", "keychain:com.example.shop", "sqlite:copy.db", environment: keychain)
    #expect(refused.status == 1 && refused.errors.contains("TO does not") && !sandbox.exists("copy.db"))
    let there = try await sandbox.coffer(
      "cp", "keychain:com.example.shop", "sqlite:copy.db", "--decrypt", environment: keychain)
    #expect(there.status == 0, "\(there.errors)")
    #expect(try await sandbox.contents("copy.db").map { $0.value } == [Data("s3cret".utf8)])
    let back = try await sandbox.coffer("cp", "copy.db", "keychain:other@group", environment: keychain)
    #expect(back.status == 0, "\(back.errors)")
    #expect(try await sandbox.coffer("get", "token", environment: use("keychain:other@group")).text == "s3cret")
    #expect(try await sandbox.coffer("rm", "token", environment: keychain).status == 0)
    #expect(try await sandbox.coffer("get", "token", environment: keychain).status == 3)
  }

  @Test("An audit finds a secret of another data directory, and does not take a missing bus for absence")
  func audit() async throws {
    let keychain = use("keychain:shop")
    let words = "\"owner\":\"a\",\"description\":\"b\",\"availability\":\"all\",\"sync\":\"never\",\"hasDefault\":false"
    let entry =
      "{\"name\":\"a\",\"type\":\"String\",\"catalog\":\"c\",\"domain\":\"d\",\"store\":\"keychain:shop\","
      + "\"security\":\"s\",\"serializer\":\"j\",\"hasMigration\":false,\"isSensitive\":true,\(words)}"
    let keys = "{\"format\":1,\"application\":\"shop\",\"catalogs\":[],\"entries\":[\(entry)]}"
    try sandbox.write(Data(keys.utf8), to: "keys.json")
    let elsewhere = keychain + [(name: "XDG_DATA_HOME", value: sandbox.path("elsewhere"))]
    let none = try await sandbox.coffer("audit", "keys.json", environment: elsewhere)
    #expect(none.status == 0 && none.text.contains("no value"), "\(none.text)\(none.errors)")
    try await sandbox.bash("printf s3cret | coffer set a -", environment: keychain)
    let found = try await sandbox.coffer("audit", "keys.json", environment: elsewhere)
    #expect(found.status == 0 && found.text.contains("stored"), "\(found.text)\(found.errors)")
    keyring.stopBus()
    let unknown = try await sandbox.coffer("audit", "keys.json", environment: elsewhere)
    #expect(unknown.status == 1 && unknown.text.contains("unavailable: The keyring"), "\(unknown.text)")
    #expect(!unknown.text.contains("no value") && !sandbox.exists("elsewhere"))
  }

  @Test("A locked keyring is reported as locked, not as a missing key")
  func locked() async throws {
    let keychain = use("keychain:shop")
    try await sandbox.bash("printf s3cret | coffer set a -", environment: keychain)
    try keyring.lock()
    let get = try await sandbox.coffer("get", "a", environment: keychain)
    #expect(get.status == 1 && get.errors.contains("The login keyring is locked"), "\(get.errors)")
    let info = try await sandbox.coffer("info", "--json", environment: keychain)
    #expect(info.status == 1)
    #expect(try (info.json()["unavailable"] as? String)?.contains("locked") == true)
  }

  @Test("info shows the selected store of a chain and the reason")
  func chain() async throws {
    let file = sandbox.url.resolvingSymlinksInPath().appendingPathComponent("s.sealed").path
    let (chain, passphrase) = ("keychain:shop+sealed:\(file)", ["--passphrase-file", "passphrase"])
    func info() async throws -> (lines: [String], json: NSDictionary?) {
      let text = try await sandbox.bash("coffer info \(passphrase.joined(separator: " "))", environment: use(chain))
      let json = try await sandbox.bash(
        "coffer info --json \(passphrase.joined(separator: " "))", environment: use(chain))
      #expect(text.status == 0 && json.status == 0, "\(text.errors)")
      #expect(!text.text.contains("s3cret") && !json.text.contains("s3cret"))
      return (text.lines, try json.json()["chain"] as? NSDictionary)
    }
    let set = "printf s3cret | coffer set a - --passphrase-file passphrase"
    #expect(try await sandbox.bash(set, environment: use(chain)).status == 0)
    let open = try await info()
    #expect(open.lines.contains("Links     1. keychain:shop, selected: it holds secrets already"), "\(open.lines)")
    #expect(open.json?["selected"] as? String == "keychain:shop")
    #expect(open.json?["links"] as? [String] == ["keychain:shop", "sealed:\(file)"])
    #expect(!sandbox.exists("s.sealed"))

    try await sandbox.coffer("rm", "a", environment: use(chain))
    keyring.stopBus()
    let begun = try await sandbox.bash(set, environment: use(chain))
    #expect(begun.status == 0 && sandbox.exists("s.sealed"), "\(begun.errors)")
    let noBus = try await info()
    #expect(noBus.lines.contains("          2. sealed:\(file), selected: it holds secrets already"), "\(noBus.lines)")

    try keyring.startBus()
    try keyring.startDaemon(password: "correct horse")
    let used = try await info()
    #expect(used.json?["selected"] as? String == "sealed:\(file)", "\(used.lines)")
    #expect(used.json?["reason"] as? String == "it holds secrets already")
    #expect(
      try await sandbox.coffer("get", "a", "--passphrase-file", "passphrase", environment: use(chain)).text == "s3cret")
  }
}
