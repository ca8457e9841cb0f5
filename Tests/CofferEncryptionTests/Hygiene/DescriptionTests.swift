import CofferCore
import CofferRouter
import CofferTestSupport
import Foundation
import Testing

/// What descriptions, mirrors and dumps of everything that holds a key say about it.
@Suite struct DescriptionTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  /// Returns everything that the standard library prints of a value.
  private func printed(_ value: Any) -> String {
    var text = "\(value)\n" + String(reflecting: value) + "\n"
    Swift.dump(value, to: &text)
    for child in Mirror(reflecting: value).children { Swift.dump(child.value, to: &text) }
    return text
  }

  /// Returns the forms in which bytes would be printed: as a text, in digits, and as a list of numbers.
  private func isIn(_ text: String, _ secret: Data) -> Bool {
    let part = secret.prefix(12)
    let hexadecimal = part.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    if text.lowercased().contains(hexadecimal) { return true }
    if text.contains(part.base64EncodedString().prefix(16)) { return true }
    if let word = String(data: part, encoding: .utf8), text.contains(word) { return true }
    let numbers = text.split { !$0.isNumber }.compactMap { UInt8($0) }
    return numbers.indices.contains { numbers[$0...].starts(with: part) }
  }

  @Test("The search finds each form that it looks for")
  func canary() throws {
    let secret = try randomBytes(32)
    #expect(isIn(printed(Array(secret)), secret))
    #expect(isIn(printed(["secret": secret.base64EncodedString()]), secret))
    #expect(isIn(printed(secret.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()), secret))
  }

  @Test("None of them shows a key, a passphrase or key material")
  func descriptions() async throws {
    let words = Data((try randomBytes(24).map { String($0, radix: 16) }.joined()).utf8)
    let passphrase = RootKeySource.passphrase(
      .provided { words }, cost: ScryptCost(logN: 10, r: 1, p: 1))
    var configuration = EncryptedEngine.Configuration(settings: EncryptionSettings(hidesNames: true))
    configuration.rollbackProtection = RollbackProtection(
      anchor: FileAnchor(URL(fileURLWithPath: folder.path("anchor"))))
    let base = MemoryEngine()
    let engine = try await EncryptedEngine.open(base, key: passphrase, configuration: configuration)
    try await engine.put("key", "value")
    let store = try KeyRingStore(base)
    let open = try await store.open(with: passphrase, settings: EncryptionSettings(), ifMissing: .refuse)
    let material = SecretBytes(copying: words)
    var storage = StorageConfiguration()
    storage.encryption.key = passphrase
    let shown: [Any] = [
      engine, configuration, passphrase, store, open, open.ring, open.root, open.ring.entries, open.ring.primary,
      open.ring.indexKey, try RollbackKeys(open.ring), material, storage, storage.encryption, EncryptionHelper.self,
      try AEAD(.aes256GCM, key: SecretBytes(copying: sha256(words))), SecretSlice(copying: words),
    ]
    var secrets = [words, sha256(words)]
    for key in [open.ring.primary, open.ring.indexKey] {
      secrets.append(key.material.withUnsafeBytes { Data($0) })
    }
    for value in shown {
      let text = printed(value)
      for (number, secret) in secrets.enumerated() {
        #expect(!isIn(text, secret), "\(type(of: value)) shows secret \(number)")
      }
    }
    try await engine.close()
  }

  @Test("No error of a wrong key, a damaged ring or a failing provider shows the key")
  func errors() async throws {
    struct Leaking: KeyMaterialProviding, Error, CustomStringConvertible {
      let material: Data
      var description: String { String(decoding: material, as: UTF8.self) }
      func keyMaterial(for source: KeyMaterialSource) async throws -> Data { throw self }
    }
    let words = Data((try randomBytes(24).map { String($0, radix: 16) }.joined()).utf8)
    let base = MemoryEngine()
    let cost = ScryptCost(logN: 10, r: 1, p: 1)
    _ = try await EncryptedEngine.open(base, key: .passphrase(.provided { Data("right".utf8) }, cost: cost))
    let sources: [RootKeySource] = [
      .passphrase(.provided { words }, cost: cost), .provider(Leaking(material: words), named: "leaking"),
    ]
    for source in sources {
      let error = try await storageError { _ = try await EncryptedEngine.open(base, key: source) }
      #expect(!isIn(printed(error), words), "\(error.code)")
    }
    let provider = RootKeySource.provider(Leaking(material: words), named: "leaking")
    let error = try await storageError { _ = try await EncryptedEngine.open(MemoryEngine(), key: provider) }
    #expect(error.code == .unavailable && !isIn(printed(error), words))
  }

  @Test("No event, no error and nothing that the system shows of the process has a key, a passphrase or a value")
  func events() async throws {
    let told = Locked<[StoreEvent]>([])
    let base = MemoryEngine(events: CofferEvents { event in told.withLock { $0.append(event) } })
    let words = Data((try randomBytes(24).map { String($0, radix: 16) }.joined()).utf8)
    let value = try randomBytes(24).map { String($0, radix: 16) }.joined()
    let source = RootKeySource.passphrase(.provided { words }, cost: ScryptCost(logN: 10, r: 1, p: 1))
    let engine = try await EncryptedEngine.open(base, key: source)
    var secrets = [words, Data(value.utf8)]
    func addKeys() async throws {
      let open = try await KeyRingStore(base).open(with: source, settings: EncryptionSettings(), ifMissing: .refuse)
      for key in [open.ring.primary, open.ring.indexKey] {
        secrets.append(key.material.withUnsafeBytes { Data($0) })
      }
    }
    try await addKeys()
    try await engine.put("key", value)
    try await engine.put("other", value)
    let sealed = try #require(try await base.entry("key"))
    var errors: [StorageError] = []
    // Moved to another key, it is intact and does not open.
    try await base.commit(WriteBatch([.put("other", sealed.value, sealed.attributes)]), from: StoreOrigin())
    errors.append(try await storageError { _ = try await engine.entry("other") })
    errors += try await engine.rotate().result().failures.map(\.error)
    try await addKeys()
    let ring = try #require(try await base.record(.keyRing)?.content)
    try await base.commit(WriteBatch([.putRecord(.keyRing, ring.dropLast())]), from: StoreOrigin())
    try await engine.put("key", value)  // repairs the ring
    try await engine.shred()
    try await addKeys()
    try await eventually("the event is told") {
      told.withLock { $0.contains { if case .keysReplaced = $0.kind { true } else { false } } }
    }
    #expect(errors.count == 2)
    var texts = told.withLock { $0 }.map { printed($0) } + errors.map { printed($0) }
    #if os(Linux)
      for name in ["cmdline", "environ"] {
        let content = try Data(contentsOf: URL(fileURLWithPath: "/proc/self/\(name)"))
        try #require(!content.isEmpty)
        texts.append(String(decoding: content, as: UTF8.self))
      }
    #endif
    for text in texts {
      for (number, secret) in secrets.enumerated() { #expect(!isIn(text, secret), "secret \(number): \(text)") }
    }
  }
}
