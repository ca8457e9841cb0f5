import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

@Suite("encrypt, rotate, rekey, keys and decrypt", .serialized)
struct RotationCommandTests {
  let sandbox: Sandbox
  let key: String

  init() throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
  }

  @Test("From plain values to encrypted ones, to new keys, and back")
  func all() async throws {
    try await sandbox.fill(count: 1_200)
    let before = try await sandbox.contents("store.db")
    let made = try await sandbox.coffer("encrypt", "store.db", "--json", "--key-file", key).json()
    #expect(made["goal"] as? String == "encryption" && made["changed"] as? Int == 1_200)
    let first = try await sandbox.coffer("keys", "store.db", "--json", "--key-file", key).json()
    let keys = try #require(first["keys"] as? [NSDictionary])
    #expect(keys.count == 1 && keys[0]["state"] as? String == "primary" && keys[0]["values"] as? Int == 1_200)
    let rotated = try await sandbox.coffer("rotate", "store.db", "--json", "--key-file", key).json()
    #expect(rotated["changed"] as? Int == 1_200 && (rotated["removedKeys"] as? [String])?.count == 1)
    let decrypted = try await sandbox.coffer("decrypt", "store.db", "--key-file", key)
    #expect(decrypted.status == 2, "there is no terminal to ask on")
    #expect(try await sandbox.coffer("decrypt", "store.db", "--yes", "--key-file", key).status == 0)
    #expect(try await sandbox.contents("store.db") == before)
    let plain = try await sandbox.coffer("rotate", "store.db", "--key-file", key)
    #expect(plain.status == 1 && plain.errors.contains("The store is not encrypted."), "\(plain.errors)")
    for command in ["encrypt", "rotate", "keys", "rekey"] {
      #expect(try await sandbox.coffer(command, "none.db", "--key-file", key, "--json").status == 3)
    }
    #expect(!sandbox.exists("none.db"))
  }

  @Test("A rotation says whether the files were freed of the old keys, and --scrub does it for a store of any size")
  func scrub() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    let small = try await sandbox.coffer("rotate", "store.db", "--json", "--key-file", key).json()
    #expect(small["scrubbed"] as? Bool == true)
    try sandbox.write(Data(count: 17 << 20), to: "big")
    #expect(try await sandbox.coffer("set", "big", "--file", "big", "--key-file", key).status == 0)
    let large = try await sandbox.coffer("rotate", "store.db", "--key-file", key)
    let words = large.errors.replacing("\n", with: " ")
    #expect(large.status == 0 && words.contains("1 old key was removed from the key ring."), "\(words)")
    #expect(words.contains("'coffer rotate --scrub'"), "\(words)")
    let keys = try await sandbox.coffer("keys", "store.db", "--json", "--key-file", key).json()
    let scrubbed = try await sandbox.coffer("rotate", "store.db", "--scrub", "--json", "--key-file", key)
    #expect(scrubbed.status == 0, "\(scrubbed.errors)")
    #expect(try scrubbed.json()["scrubbed"] as? Bool == true)
    #expect(
      try await sandbox.coffer("keys", "store.db", "--json", "--key-file", key).json() as NSDictionary == keys
        as NSDictionary)
    let text = try await sandbox.coffer("rotate", "store.db", "--scrub", "--key-file", key)
    #expect(text.errors.contains("The files were rewritten"), "\(text.errors)")
    let moved = try await sandbox.coffer(
      "rekey", "store.db", "--key-file", key, "--to-key-file", try sandbox.makeKey("new.key"))
    #expect(moved.words.contains("'coffer rotate --scrub'"), "\(moved.errors)")
  }

  @Test("An encryption says where plain values may remain")
  func remains() async throws {
    try await sandbox.coffer("set", "a", "unmistakable")
    let small = try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    #expect(
      small.words.contains("Backups, snapshots and the quarantine may still hold the plain"),
      "\(small.errors)")
    #expect(!small.words.contains("--scrub") && !small.words.contains("docs/"), "\(small.errors)")
    #expect(try !sandbox.stores("unmistakable", in: "store.db"))
    try sandbox.write(Data(count: 17 << 20), to: "big")
    try await sandbox.coffer("set", "big", "--file", "big", "--store", "big.db")
    let large = try await sandbox.coffer("encrypt", "big.db", "--key-file", key)
    #expect(
      large.words.contains("may still hold plain values: run 'coffer rotate --scrub'"),
      "\(large.errors)")
  }

  @Test("Errors name commands and no functions")
  func advice() async throws {
    try await sandbox.coffer("set", "a", "1")
    let created = try await sandbox.coffer("set", "b", "1", "--store", "encrypted:store.db", "--key-file", key)
    let words = created.words
    #expect(created.status == 1 && words.contains("coffer encrypt STORE") && !words.contains("EncryptedEngine"))
  }

  @Test("A store that cannot be written is refused before anybody is asked for a new passphrase")
  func readOnly() async throws {
    guard canLosePrivileges else { return print("Not checked, for want of setpriv.") }
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    try #require(chmod(sandbox.storePath, 0o444) == 0)
    let ended = try await sandbox.bash(
      "\(unprivileged) coffer rekey store.db --key-file app.key", environment: neverAsk)
    #expect(ended.status == 1 && ended.words.contains("open for reading only"), "\(ended.errors)")
  }

  @Test("Another key or passphrase opens the store, and the previous one does not")
  func rekey() async throws {
    let (new, words) = (try sandbox.makeKey("new.key"), try sandbox.makePassphrase())
    try await sandbox.coffer("set", "a", "1", "--store", "encrypted:store.db", "--key-file", key)
    let changed = try await sandbox.coffer("rekey", "store.db", "--key-file", key, "--to-key-file", new)
    #expect(changed.status == 0 && changed.errors.contains("new.key"), "\(changed.errors)")
    #expect(!changed.words.contains("--scrub"), "\(changed.errors)")
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).status == 1)
    #expect(try await sandbox.coffer("get", "a", "--key-file", new).text == "1")
    let none = try await sandbox.coffer("rekey", "store.db", "--key-file", new, environment: neverAsk)
    #expect(none.status == 1 && none.errors.contains("--to-key-file"), "\(none.errors)")
    let bad = try await sandbox.coffer("rekey", "store.db", "--key-file", new, "--to-key-file", sandbox.path("none"))
    #expect(bad.status == 2)
    let json = try await sandbox.coffer(
      "rekey", "store.db", "--key-file", new, "--to-passphrase-file", words, "--json"
    ).json()
    #expect(json["key"] as? String == "passphrase" && json["scrubbed"] as? Bool == true)
    #expect(try await sandbox.coffer("get", "a", "--passphrase-file", words).text == "1")
    #expect(try await sandbox.coffer("get", "a", "--key-file", new).status == 1)
  }

  @Test(
    "An interrupted rotation leaves a store that can be read, and the next one continues",
    .enabled(if: FaultLibrary.path != nil, "no C compiler"), arguments: [SIGINT, SIGKILL])
  func interruption(_ signal: Int32) async throws {
    try await sandbox.fill(count: 3_000)
    try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    // The rotation stops by itself at each sync, until the new key is in the ring: values are left to be written then.
    let rotation = try sandbox.startCoffer(
      "rotate", "store.db", "--key-file", key,
      environment: [("LD_PRELOAD", FaultLibrary.path), ("COFFER_FAULT", "stop:sync:1")])
    try await eventually("a second key") {
      guard rotation.isStopped() else { return false }
      // Until the command waits for its run, SIGINT ends the process without a word.
      let isWaiting = rotation.handles(SIGINT)
      if isWaiting, try await sandbox.coffer("doctor", "store.db", "--key-file", key).text.contains("old data key") {
        return true
      }
      rotation.signal(SIGCONT)
      return false
    }
    rotation.signal(signal)
    try await eventually("the end of the rotation") {
      rotation.signal(SIGCONT)
      return rotation.hasEnded()
    }
    let ended = try await rotation.ended()
    #expect(ended.status == (signal == SIGINT ? 130 : 128 + SIGKILL), "\(ended.status) \(ended.errors)")
    if signal == SIGINT {
      #expect(ended.errors.replacing("\n", with: " ").contains("Run the same command again to continue."))
    }
    #expect(try await sandbox.coffer("get", "k00001", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "k03000", "--key-file", key).status == 0)
    let last = try await sandbox.coffer("rotate", "store.db", "--json", "--key-file", key).json()
    #expect((last["removedKeys"] as? [Any])?.count == 2 && (last["failures"] as? [Any])?.isEmpty == true)
    let keys = try await sandbox.coffer("keys", "store.db", "--json", "--key-file", key).json()
    #expect((keys["keys"] as? [NSDictionary])?.count == 1)
  }

  @Test("A value that does not open is reported, and keeps its key")
  func damagedValue() async throws {
    for name in ["a", "b\u{1B}[2J"] {
      try await sandbox.coffer("set", name, "1", "--store", "encrypted:store.db", "--key-file", key)
    }
    try damage("b\u{1B}[2J", in: sandbox)
    let ended = try await sandbox.coffer("rotate", "store.db", "--key-file", key)
    #expect(ended.status == 1 && ended.errors.contains("stays as it is"), "\(ended.errors)")
    #expect(!ended.errors.contains("\u{1B}"))
    let verified = try await sandbox.coffer("verify", "--json", "--key-file", key)
    #expect(verified.status == 1)
    #expect(try (verified.json()["damaged"] as? [String])?.count == 1)
    #expect(try await sandbox.coffer("get", "a", "--key-file", key).text == "1")
  }

  @Test(
    "The bar of a rotation",
    arguments: [
      (0, 1, "  [                    ]    0 %  0 of 1 value"), (0, 0, ": counting the values"),
      (450, 1_000, "  [========>           ]   45 %  450 of 1,000 values"),
      (10, 10, "  [====================]  100 %  10 of 10 values"),
    ])
  func bar(_ values: Int, _ total: Int, _ text: String) {
    #expect(RotationLine.text("Rotating", values: values, of: total) == "Rotating" + text)
  }
}
