import CofferTestSupport
import Foundation
import Testing

@Suite("Sources of keys", .serialized)
struct KeySourceTests {
  let sandbox: Sandbox
  let key: String

  init() async throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
  }

  @Test("A descriptor, a process substitution and a systemd credential")
  func sources() async throws {
    #expect(try await sandbox.bash("coffer get a --key-file /dev/fd/3 3<app.key").text == "1")
    #expect(try await sandbox.bash("coffer get a --key-file /dev/stdin <app.key").text == "1")
    #expect(try await sandbox.bash("coffer get a --key-file <(cat app.key)").text == "1")
    #expect(try await sandbox.bash("ln -s app.key link; coffer get a --key-file link").text == "1")
    try FileManager.default.createDirectory(
      at: sandbox.url.appendingPathComponent("credentials"), withIntermediateDirectories: false)
    try FileManager.default.copyItem(atPath: key, toPath: sandbox.path("credentials/coffer-key"))
    let credentials = [(name: "CREDENTIALS_DIRECTORY", value: sandbox.path("credentials") as String?)]
    #expect(try await sandbox.coffer("get", "a", environment: credentials).text == "1")
    // A store of another location, and a symbolic link to the store.
    #expect(
      try await sandbox.bash("ln -s store.db linked.db; coffer get a --store linked.db --key-file app.key").text == "1")
  }

  @Test(
    "Contradictions are errors of usage",
    arguments: [
      ("get a --key-file app.key --key-item x", "Give --key-file or --key-item, not both."),
      ("get a --key-file app.key --passphrase-file app.key", "Give --key-file or --passphrase-file, not both."),
      ("get a --key-file app.key --key-file app.key", "--key-file is given twice."),
      ("get a --key-file ''", "--key-file needs a value that is not empty."),
      ("set a - --key-file /dev/stdin < <(cat app.key)", "One pipe cannot supply both the value and the key."),
      ("get a --key-file nowhere", "The key cannot be read: there is no file nowhere."),
      ("get a --passphrase-file nowhere", "The passphrase cannot be read: there is no file nowhere."),
      ("get a --store sealed:b.db --passphrase-file nowhere", "The passphrase cannot be read: there is no file"),
      ("rotate", "'rotate' needs a STORE"), ("encrypt store.db --cipher rot13", "--cipher takes aes256 or chacha20."),
      ("encrypt sealed:a --key-file app.key", "protects its values already"),
    ])
  func usage(_ line: String, _ message: String) async throws {
    let ended = try await sandbox.bash("coffer " + line)
    #expect(ended.status == 2 && ended.errors.replacing("\n", with: " ").contains(message), "\(ended.errors)")
    #expect(!ended.errors.contains("FILE.key") && !sandbox.exists("b.db"))
  }

  @Test(
    "A key that is none is refused, and the store stays as it is",
    arguments: [
      ("mkdir key", "it is a directory."), (": > key; chmod 600 key", "0 bytes; at least 32 are needed"),
      ("truncate -s 1G key; chmod 600 key", "larger than 64 KiB"),
      ("cp app.key key; chmod 644 key", "other users can read"),
      ("printf 'short' > key; chmod 600 key", "5 bytes; at least 32"),
      ("head -c 64 /dev/zero > key; chmod 600 key", "not random"),
      ("ln -s /dev/zero key", "a terminal or another device"),
      ("openssl rand -hex 32 > key; chmod 600 key", "does not open the key ring"),
      ("(umask 77; printf 'x\\033[2Jx%s' $(cat app.key) > key)", "does not open the key ring"),
    ])
  func wrong(_ preparation: String, _ message: String) async throws {
    let before = try await sandbox.contents("store.db")
    let ended = try await sandbox.bash("\(preparation); coffer get a --key-file key")
    #expect(ended.status == 1 && ended.output.isEmpty, "\(ended.text)")
    #expect(ended.errors.replacing("\n", with: " ").contains(message), "\(ended.errors)")
    #expect(!ended.errors.contains("\u{1B}"))
    #expect(try await sandbox.contents("store.db") == before)
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
  }

  @Test("A named pipe without a writer is waited for, and an interruption ends it")
  func fifo() async throws {
    try #require(mkfifo(sandbox.path("pipe"), 0o600) == 0)
    #expect(try await sandbox.bash("timeout 1 coffer get a --key-file pipe").status == 124)
    #expect(try await sandbox.bash("cat app.key > pipe & coffer get a --key-file pipe").text == "1")
  }

  @Test("A passphrase file that other users can read or change opens no store, except as a credential of systemd")
  func exposedPassphrase() async throws {
    let words = try sandbox.makePassphrase()
    let stores = [sandbox.path("words.db"), "sealed:" + sandbox.path("s")]
    for store in stores {
      let location = store.hasPrefix("sealed:") ? store : "encrypted:" + store
      let line = "printf 2 | coffer set a - --passphrase-file passphrase --store '\(location)'"
      for mode in ["640", "604", "620", "602"] {
        let refused = try await sandbox.bash("chmod \(mode) passphrase; " + line)
        #expect(refused.status == 1 && refused.words.contains("other users can read or change it (mode \(mode))"))
        #expect(refused.words.contains("chmod 600") && !refused.words.contains("sesame"), "\(refused.errors)")
      }
      #expect(try await sandbox.bash("chmod 600 passphrase; " + line).status == 0)
      try await sandbox.bash("chmod 644 passphrase")
      let read = try await sandbox.coffer("get", "a", "--store", store, "--passphrase-file", words)
      #expect(read.status == 1 && read.output.isEmpty && read.words.contains("mode 644"), "\(read.errors)")
      // The mode of a credential may show an access control list for the user of the service.
      let credentials = [(name: "CREDENTIALS_DIRECTORY", value: sandbox.url.path as String?)]
      let passed = try await sandbox.coffer(
        "get", "a", "--store", store, "--passphrase-file", words, environment: credentials)
      #expect(passed.text == "2", "\(passed.errors)")
    }
    let rekeyed = try await sandbox.coffer("rekey", "store.db", "--key-file", key, "--to-passphrase-file", words)
    #expect(rekeyed.status == 1 && rekeyed.words.contains("mode 644"), "\(rekeyed.errors)")
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
  }

  @Test("The passphrase of a store, and sources of the wrong kind")
  func passphrase() async throws {
    let words = try sandbox.makePassphrase()
    let store = sandbox.path("words.db")
    #expect(
      try await sandbox.coffer("set", "a", "2", "--store", "encrypted:\(store)", "--passphrase-file", words).status == 0
    )
    #expect(try await sandbox.coffer("get", "a", "--store", store, "--passphrase-file", words).text == "2")
    let asked = try await sandbox.coffer("get", "a", "--store", store, environment: neverAsk)
    #expect(asked.errors.contains("The store is encrypted under a passphrase, and none was given."), "\(asked.errors)")
    let material = try await sandbox.coffer("get", "a", "--store", store, "--key-file", key)
    #expect(material.status == 1 && material.errors.contains("opened with a passphrase"), "\(material.errors)")
    let phrase = try await sandbox.coffer("get", "a", "--passphrase-file", words)
    #expect(phrase.status == 1 && phrase.errors.contains("opened with key material"), "\(phrase.errors)")
    try sandbox.makePassphrase("wrong", "close sesame")
    let wrong = try await sandbox.coffer("get", "a", "--store", store, "--passphrase-file", sandbox.path("wrong"))
    #expect(wrong.status == 1 && wrong.errors.contains("does not open"), "\(wrong.errors)")
  }
}
