#if os(Linux)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// Real core dumps of a process that has written, read, listed, rotated and reopened an encrypted store.
  @Suite(.blocking, .serialized, .enabled(if: CoreDump.isWritten, CoreDump.elsewhere))
  struct EncryptedDumpTests {
    private static let count = 100
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func word(_ count: Int) throws -> String {
      try randomBytes(count).map { String($0, radix: 16) }.joined()
    }

    private func source(_ kind: String) -> RootKeySource {
      let file = URL(fileURLWithPath: folder.path("words"))
      return kind == "passphrase"
        ? .passphrase(.file(file), cost: ScryptCost(logN: 10, r: 2, p: 1)) : .file(file)
    }

    @Test(
      "It contains no root key, no data key, no passphrase and no value that was released",
      arguments: [("material", "open"), ("passphrase", "open"), ("material", "closed")])
    func dump(_ kind: String, _ state: String) async throws {
      let secret = Data(try word(48).utf8)
      try secret.write(to: URL(fileURLWithPath: folder.path("words")))
      chmod(folder.path("words"), 0o600)
      try FileManager.default.createDirectory(atPath: folder.path("store"), withIntermediateDirectories: true)
      let values = try (0..<Self.count).map { _ in Data(try word(40).utf8) }
      let settings = EncryptionSettings(hidesNames: true)
      let base = try await TestedStore.sqlite.open(in: URL(fileURLWithPath: folder.path("store")))
      let engine = try await EncryptedEngine.open(
        base, key: source(kind), configuration: EncryptedEngine.Configuration(settings: settings))
      for (number, value) in values.enumerated() {
        try await engine.commit(WriteBatch([.put(.known("k/\(number)"), value)]), from: StoreOrigin())
      }
      try await engine.close()
      let helper = try HelperProcess(
        ["encrypted-dump", folder.path("store"), folder.path("words"), kind, state, folder.url.path])
      let core = try CoreDump(of: helper, in: folder)
      var needles = try await keys(kind, secret)
      needles.append(("the passphrase or the material", secret))
      for (number, value) in values.enumerated() { needles.append(("value \(number)", value)) }
      for (what, needle) in needles {
        // Half of a key is no less a secret.
        #expect(!core.contains(needle.prefix(needle.count / 2)), "\(what) is in the dump")
        #expect(!core.contains(needle.suffix(needle.count / 2)), "the end of \(what) is in the dump")
      }
    }

    /// Returns every key that the store has now: the root key, and those in the ring.
    private func keys(_ kind: String, _ secret: Data) async throws -> [(String, Data)] {
      let base = try await TestedStore.sqlite.open(in: URL(fileURLWithPath: folder.path("store")))
      let open = try await KeyRingStore(base).open(
        with: source(kind), settings: EncryptionSettings(), ifMissing: .refuse)
      try await base.close()
      let (salt, bytes) = (open.root.derivation.salt, SecretBytes(copying: secret))
      let root: SecretBytes
      switch open.root.derivation.method {
      case .keyMaterial: root = try hkdfSHA256(bytes, salt: salt, info: Data("coffer root key".utf8), count: 32)
      case .passphrase(let cost):
        root = try scrypt(bytes, salt: salt, cost: cost, count: 32, limits: PassphraseLimits())
      }
      func data(_ secret: SecretBytes) -> Data { secret.withUnsafeBytes { Data($0) } }
      var keys = [("the root key", data(root)), ("the index key", data(open.ring.indexKey.material))]
      for entry in open.ring.entries { if let key = entry.key { keys.append(("a data key", data(key.material))) } }
      for purpose in [DataKey.Purpose("opaque names"), DataKey.Purpose("key ring")] {
        let key = try DataKey(root).derivedKey(for: purpose)
        keys.append(("a key derived from the root key", data(key.material)))
        keys.append(("a derived key", data(try open.ring.indexKey.derivedKey(for: purpose).material)))
      }
      return keys
    }
  }
#endif
