import Coffer
import CofferEncryption
import CofferFileSystem
import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

/// Tests of stores of which only the values of declared keys are encrypted.
@Suite("Stores with some encrypted values", .serialized)
struct MixedStoreTests {
  let sandbox: Sandbox
  let key: String

  init() async throws {
    sandbox = try Sandbox()
    key = try sandbox.makeKey()
    try await sandbox.makeMixedStore(key: key)
  }

  @Test("Plain values need no key, and encrypted ones do")
  func reading() async throws {
    #expect(try await sandbox.coffer("get", "theme").text == "dark")
    let refused = try await sandbox.coffer("get", "token")
    #expect(
      refused.status == 1 && refused.output.isEmpty && refused.errors.contains("no key was given"), "\(refused.errors)")
    #expect(try await sandbox.coffer("get", "token", "--key-file", key).text == "s3cret")
    let listed = try await sandbox.coffer("ls", "--json").jsonLines()
    #expect(listed.map { $0["encrypted"] as? Bool } == [false, true])
    #expect(listed.map { $0["size"] as? Int } == [4, 6])
    let info = try await sandbox.coffer("info")
    #expect(info.status == 0 && info.text.contains("some values are encrypted, under key material"), "\(info.text)")
    #expect(try await sandbox.coffer("verify").status == 0)
    #expect(try await sandbox.coffer("verify", "--json", "--key-file", key).json()["unopened"] as? Int == 0)
    let doctor = try await sandbox.coffer("doctor", "store.db", "--key-file", key)
    #expect(doctor.status == 0 && doctor.text.contains("some values are encrypted"), "\(doctor.text)")
    let events = try await sandbox.coffer("watch", "--since", "0", "--count", "2", "--json").jsonLines()
    #expect(events.map { $0["event"] as? String } == ["put", "put"])
  }

  @Test("A value keeps its protection, and a new one is plain unless it is said otherwise")
  func writing() async throws {
    #expect(try await sandbox.coffer("set", "theme", "light").status == 0)
    #expect(try await sandbox.coffer("set", "new", "visible").status == 0)
    #expect(try await sandbox.coffer("set", "token", "other").status == 1)
    #expect(try await sandbox.coffer("set", "token", "unmistakable", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("set", "pin", "unmistakable", "--encrypted", "--key-file", key).status == 0)
    let stored = try await sandbox.contents("store.db")
    #expect(stored["theme"] == Data("light".utf8) && stored["new"] == Data("visible".utf8))
    #expect(try !sandbox.stores("unmistakable", in: "store.db"))
    #expect(try await sandbox.coffer("get", "pin", "--key-file", key).text == "unmistakable")
    #expect(try await sandbox.coffer("rm", "pin", "theme").status == 0)
    #expect(try await sandbox.coffer("ls").lines == ["new", "token"])
    let plain = try await sandbox.coffer("set", "a", "1", "--encrypted", "--store", "plain.db", "--key-file", key)
    #expect(plain.status == 1 && plain.errors.contains("The store is not encrypted."), "\(plain.errors)")
  }

  @Test("A value for which a key is given is not stored in plain, nor is a key passed over")
  func keyed() async throws {
    let before = try await sandbox.contents("store.db")
    for name in ["new", "theme"] {
      let refused = try await sandbox.bash("printf s3cret | coffer set \(name) - --key-file app.key")
      let words = refused.words
      #expect(refused.status == 1 && words.contains("would be stored in plain"), "\(refused.errors)")
      #expect(words.contains("Add --encrypted, or omit the key. Nothing was written."), "\(refused.errors)")
    }
    #expect(try await sandbox.contents("store.db") == before)
    #expect(try await sandbox.coffer("set", "new", "1", "--encrypted", "--key-file", key).status == 0)
    // A list needs no key, and checks one that is given.
    let other = try sandbox.makeKey("other.key")
    #expect(try await sandbox.coffer("ls", "--key-file", key).lines == ["new", "theme", "token"])
    let wrong = try await sandbox.coffer("ls", "--key-file", other)
    #expect(wrong.status == 1 && wrong.words.contains("does not open"), "\(wrong.errors)")
    let missing = try await sandbox.coffer("ls", "--key-file", sandbox.path("none"))
    #expect(missing.status == 2 && missing.words.contains("The key cannot be read: there is no file"))
  }

  @Test("Its encryption is finished, and its manner is compared as that of a whole one")
  func manner() async throws {
    let other = try await sandbox.coffer("encrypt", "store.db", "--pad", "--key-file", key)
    #expect(other.status == 1 && other.words.contains("in another manner"), "\(other.errors)")
    #expect(try await sandbox.coffer("get", "theme").text == "dark")
    let same = try await sandbox.coffer("encrypt", "store.db", "--cipher", "aes256", "--key-file", key)
    #expect(same.status == 0, "\(same.errors)")
    #expect(try await sandbox.coffer("get", "theme").status == 1)
  }

  @Test("Preferences keep their types and their protection")
  func preferences() async throws {
    let config = sandbox.path(".config")
    let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") {
      $0 == "XDG_CONFIG_HOME" ? config : nil
    }
    let base = try await SystemDirectories.$current.withValue(system) {
      try await SlotEngine.preferences(suite: "shop")
    }
    let engine = try await EncryptedEngine.open(
      base, key: .file(key), configuration: EncryptedEngine.Configuration { $0 == "token" })
    try await engine.commit(WriteBatch([.put("token", Data("s3cret".utf8))]), from: StoreOrigin())
    let store = "prefs:shop"
    #expect(try await sandbox.coffer("set", "count", "7", "--type", "number", "--store", store).status == 0)
    #expect(try await sandbox.coffer("set", "count", "eight", "--store", store).status == 2)
    #expect(try await sandbox.coffer("set", "count", "8", "--store", store).status == 0)
    #expect(try await UserDefaultsAdapter(engine: base).get("count") == .integer(8))
    let typed = try await sandbox.coffer("set", "token", "7", "--type", "number", "--store", store, "--key-file", key)
    #expect(typed.status == 2 && typed.errors.contains("has no type"), "\(typed.errors)")
    #expect(try await engine.entry("token")?.value == Data("s3cret".utf8))
    let new = "encrypted:prefs:new"
    let made = try await sandbox.coffer("set", "a", "7", "--type", "number", "--store", new, "--key-file", key)
    #expect(made.status == 2 && made.errors.contains("has no type"), "\(made.errors)")
    #expect(!FileManager.default.fileExists(atPath: config + "/new.plist"))
    // The value has become an encrypted one since the store was opened.
    let ring = try #require(try await StoredKeyRingFacts(base))
    let keyless = KeylessEngine(base, ring, try KeySources(Invocation(.set)))
    let error = await #expect(throws: StorageError.self) {
      try await setPreference(Data("7".utf8), of: "token", as: .number, .none, in: keyless)
    }
    #expect(error?.code == .keyUnavailable)
    #expect(try await engine.entry("token")?.value == Data("s3cret".utf8))
    try await engine.close()
  }

  @Test("A plain value is written beside a rotation and other writers, and refused once all are encrypted")
  func races() async throws {
    let base = try await SQLiteEngine.open(at: sandbox.storePath)
    let ring = try #require(try await StoredKeyRingFacts(base))
    let busy = InterruptedEngine(base)
    let keyless = KeylessEngine(busy, ring, try KeySources(Invocation(.set)))
    #expect(try await sandbox.coffer("rotate", "store.db", "--key-file", key).status == 0)
    let put = WriteBatch([.put("theme", Data("light".utf8))])
    _ = try await keyless.commit(put, from: StoreOrigin())
    await busy.interruption.set { [sandbox] in _ = try await sandbox.coffer("set", "theme", "other") }
    _ = try await keyless.commit(put, from: StoreOrigin())
    #expect(try await base.entry("theme")?.value == Data("light".utf8))
    await busy.interruption.set { [sandbox, key] in
      _ = try await sandbox.coffer("encrypt", "store.db", "--key-file", key)
    }
    let error = await #expect(throws: StorageError.self) { _ = try await keyless.commit(put, from: StoreOrigin()) }
    #expect(error?.code == .keyUnavailable && error?.key == "theme")
    #expect(try await base.summary(of: "theme")?.isEncrypted == true)
    try await keyless.close()
  }

  @Test("Keys and rotation, and the encryption of all values")
  func rotation() async throws {
    let keys = try await sandbox.coffer("keys", "store.db", "--json", "--key-file", key).json()
    #expect(keys["coverage"] as? String == "declared" && keys["plain"] as? Int == 1)
    let rotated = try await sandbox.coffer("rotate", "store.db", "--json", "--key-file", key).json()
    #expect(rotated["changed"] as? Int == 1 && (rotated["removedKeys"] as? [String])?.count == 1)
    #expect(try await sandbox.coffer("get", "theme").text == "dark")
    #expect(try await sandbox.coffer("encrypt", "store.db", "--key-file", key).status == 0)
    #expect(try await sandbox.coffer("get", "theme").status == 1)
    #expect(try await sandbox.coffer("get", "theme", "--key-file", key).text == "dark")
  }
}

/// An engine during whose next commit something else happens first.
private final class InterruptedEngine: EngineDecorator {
  actor Interruption {
    private var body: (@Sendable () async throws -> Void)?

    func set(_ body: @escaping @Sendable () async throws -> Void) { self.body = body }

    func run() async throws {
      let body = body
      self.body = nil
      try await body?()
    }
  }

  let base: any StorageEngine
  let interruption = Interruption()

  init(_ base: any StorageEngine) { self.base = base }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    try await interruption.run()
    return try await base.commit(batch, from: origin)
  }
}
