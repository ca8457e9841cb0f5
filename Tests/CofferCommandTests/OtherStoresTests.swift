import CofferTestSupport
import Foundation
import Testing

/// Tests of preferences and sealed files from the command line.
@Suite("Preferences and sealed files", .serialized)
struct OtherStoresTests {
  let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    try sandbox.write(Data("open sesame\n".utf8), to: "passphrase")
    try #require(chmod(sandbox.path("passphrase"), 0o600) == 0)
  }

  private func use(_ store: String) -> [(name: String, value: String?)] { [(name: "COFFER_STORE", value: store)] }

  @Test("Every command works on preferences")
  func preferences() async throws {
    let prefs = use("prefs:com.example.shop")
    #expect(try await sandbox.coffer("ls", environment: prefs).status == 3)
    let watched = try await sandbox.coffer("set", "theme", "dark", environment: prefs)
    #expect(watched.status == 0 && watched.errors.isEmpty, "\(watched.errors)")
    #expect(try await sandbox.coffer("get", "theme", environment: prefs).text == "dark")
    #expect(try await sandbox.coffer("ls", environment: prefs).lines == ["theme"])
    let file = try String(contentsOfFile: sandbox.path(".config/com.example.shop.plist"), encoding: .utf8)
    #expect(file.contains("<string>dark</string>"))
    let events = try await sandbox.coffer("watch", "--since", "0", "--count", "1", "--json", environment: prefs)
    #expect(try events.json()["key"] as? String == "theme")
    let info = try await sandbox.coffer("info", "--json", environment: prefs).json()
    #expect(info["format"] as? String == "prefs" && info["keys"] as? Int == 1 && info["chain"] is NSNull)
    #expect(try await sandbox.coffer("verify", environment: prefs).status == 0)
    #expect(try await sandbox.coffer("rm", "theme", environment: prefs).status == 0)
    #expect(try await sandbox.coffer("get", "theme", environment: prefs).status == 3)
  }

  @Test(
    "--type sets the type of a preference",
    arguments: [
      ("string", "7", "<string>7</string>"), ("number", "30", "<integer>30</integer>"),
      ("number", "0.5", "<real>0.5</real>"), ("boolean", "true", "<true/>"), ("data", "x", "<data>"),
      ("date", "2026-11-21T09:00:00Z", "<date>2026-11-21T09:00:00Z</date>"),
    ])
  func types(_ type: String, _ value: String, _ expected: String) async throws {
    let prefs = use("prefs:types")
    let ended = try await sandbox.coffer("set", "a", value, "--type", type, environment: prefs)
    #expect(ended.status == 0, "\(ended.errors)")
    let file = try String(contentsOfFile: sandbox.path(".config/types.plist"), encoding: .utf8)
    #expect(file.contains(expected), "\(file)")
    // Without --type it keeps its type.
    #expect(try await sandbox.coffer("set", "a", value, environment: prefs).status == 0)
    #expect(try String(contentsOfFile: sandbox.path(".config/types.plist"), encoding: .utf8).contains(expected))
  }

  @Test("A copy into another kind of store and back keeps every byte")
  func copies() async throws {
    let bytes = Data((0...255).map { UInt8($0) })
    try sandbox.write(bytes, to: "bytes")
    try await sandbox.coffer("set", "binary/1", "--file", "bytes")
    try await sandbox.coffer("set", "Größe", "x\n")
    try await sandbox.coffer("set", "empty", "")
    let expected = try await sandbox.contents("store.db")
    #expect(expected.count == 3)
    for (name, store, key) in [("p", "prefs:copy", ""), ("s", "sealed:copy.sealed", "--passphrase-file passphrase")] {
      let there = try await sandbox.bash("coffer cp store.db \(store) \(key)")
      #expect(there.status == 0, "\(there.errors)")
      let options = store.hasPrefix("sealed:") ? "--decrypt \(key)" : key
      let back = try await sandbox.bash("coffer cp \(store) \(name).db \(options)")
      #expect(back.status == 0, "\(back.errors)")
      #expect(try await sandbox.contents("\(name).db") == expected)
    }
    #expect(try sandbox.read("copy.sealed").range(of: Data("Größe".utf8)) == nil)
  }

  @Test("Every command works on a sealed file, with each source of a passphrase")
  func sealed() async throws {
    let sealed = use("sealed:s.sealed")
    #expect(try await sandbox.coffer("ls", environment: sealed).status == 3)
    let line =
      "set -e; printf s3cret | coffer set a - --passphrase-file passphrase; "
      + "coffer get a --passphrase-file /dev/fd/3 3<passphrase; "
    let ended = try await sandbox.bash(
      line + "mkdir run; cp passphrase run/coffer-passphrase; export CREDENTIALS_DIRECTORY=$PWD/run; coffer ls; "
        + "coffer watch --since 0 --count 1 --json; coffer verify --json; coffer rm a --json",
      environment: sealed)
    #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
    #expect(ended.text.hasPrefix("s3creta\n{\"time\"") && ended.text.contains("\"removed\":[\"a\"]"), "\(ended.text)")
  }

  @Test("A missing or wrong passphrase is reported without any secret")
  func noPassphrase() async throws {
    let sealed = use("sealed:s.sealed")
    let argument = try await sandbox.coffer(
      "set", "a", "s3cret", "--passphrase-file", "passphrase", environment: sealed)
    #expect(argument.status == 2 && argument.errors.contains("A secret must not be an argument"), "\(argument.errors)")
    #expect(!argument.errors.contains("s3cret") && access(sandbox.path("s.sealed"), F_OK) != 0)
    try sandbox.write(Data("s3cret".utf8), to: "value")
    try await sandbox.coffer(
      "set", "a", "--file", "value", "--passphrase-file", "passphrase", environment: sealed)
    let nobody = try await sandbox.bash("setsid -w coffer get a; echo $?", environment: sealed)
    #expect(nobody.text == "1\n")
    #expect(
      nobody.errors == "coffer: The store needs a passphrase, and there is no terminal for a prompt. Give "
        + "--passphrase-file PATH, or the systemd credential 'coffer-passphrase'.\n")
    let missing = try await sandbox.coffer("get", "a", "--passphrase-file", "none", environment: sealed)
    #expect(missing.status == 2)
    #expect(missing.errors == "coffer: The passphrase cannot be read: there is no file none. Try 'coffer help'.\n")
    try sandbox.makePassphrase("wrong", "guess")
    let wrong = try await sandbox.coffer("get", "a", "--passphrase-file", "wrong", environment: sealed)
    #expect(wrong.status == 1 && wrong.output.isEmpty)
    #expect(wrong.errors.hasPrefix("coffer: The passphrase does not open the store. Store: sealed:"))
    #expect(!wrong.errors.contains("guess") && !wrong.errors.contains("s3cret"))
    let json = try await sandbox.coffer("get", "a", "--json", "--passphrase-file", "wrong", environment: sealed)
    #expect(try json.errorJSON()["code"] as? String == "wrongPassphrase")
  }

  @Test(
    "The terminal prompts for a passphrase, twice for a new store, without echo",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
  func prompt() async throws {
    // The words are typed after the prompt, since earlier input is discarded.
    let script = """
      mkfifo keys; exec 4<>keys
      script -qefc 'printf 1 | coffer set a -' shown <keys >/dev/null & pid=$!
      for asked in 'Passphrase of' 'Repeat the'; do
        for ((try = 0; try < 5000; try++)); do grep -q "$asked" shown 2>/dev/null && break; sleep 0.02; done
        printf 'typed words\\n' >&4
      done
      wait $pid; echo $?; cat shown
      umask 077; printf 'typed words' >given; coffer get a --passphrase-file given
      """
    let ended = try await sandbox.bash(script, environment: use("sealed:new.sealed"))
    #expect(ended.text.hasPrefix("0\n") && ended.text.hasSuffix("1"), "\(ended.text) \(ended.errors)")
    #expect(ended.text.contains("Passphrase of new.sealed: ") && ended.text.contains("Repeat the passphrase: "))
    #expect(!ended.text.contains("typed words"))
  }
}
