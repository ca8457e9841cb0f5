#if os(Linux) || os(macOS)
  import CofferCore
  import CofferCrypto
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// A process that opened a store in plain, for which another process makes a key ring afterwards.
  @Suite(.serialized, .blocking, .timeLimit(.minutes(10))) struct SelectiveProcessTests {
    private let directory: TemporaryDirectory
    private let key: RootKeySource

    init() throws {
      directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(atPath: directory.path("store"), withIntermediateDirectories: true)
      let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
      try #require(
        FileManager.default.createFile(atPath: directory.path("key"), contents: Data(5..<37), attributes: attributes))
      key = .file(directory.path("key"))
    }

    private func writer(_ kind: BaseStore) throws -> HelperProcess {
      let helper = try HelperProcess(
        ["selective-write", directory.path("store"), kind.rawValue, directory.path("key")])
      #expect(try helper.line() == "ready")
      return helper
    }

    private func answer(_ helper: HelperProcess, _ line: String) throws -> String? {
      helper.tell(line)
      return try helper.line()
    }

    private func open(_ kind: BaseStore) async throws -> any StorageEngine {
      try await kind.open(in: URL(fileURLWithPath: directory.path("store")))
    }

    @Test(
      "Once another process has encrypted the store, nothing is written in plain", arguments: [BaseStore.sqlite, .file])
    func encrypted(_ kind: BaseStore) async throws {
      let (writer, setter) = (try writer(kind), try writer(kind))
      #expect(try answer(writer, "put name old") == "ok")
      #expect(try answer(setter, "submit theme dark") == "ok")
      let base = try await open(kind)
      let (engine, rotation) = try await EncryptedEngine.encrypt(base, key: key)
      _ = try await rotation.result()
      #expect(try answer(writer, "put other new") == "ok")
      #expect(try answer(setter, "submit third new") == "ok")
      #expect(try answer(setter, "submit fourth new") == "unsupported")
      for name in ["other", "third"] { #expect(try await engine.text(.known(name)) == "new") }
      let stored = try await base.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 10) }
      #expect(stored.count == 4 && stored.allSatisfy { $0.attributes.isSealed }, "\(stored.map(\.key))")
      try await engine.close()
    }

    @Test("While another process encrypts the store, writes are refused", arguments: [BaseStore.sqlite, .file])
    func unfinished(_ kind: BaseStore) async throws {
      let writer = try writer(kind)
      let base = try await open(kind)
      let (engine, rotation) = try await EncryptedEngine.encrypt(base, key: key)
      _ = try await rotation.result()
      let ring = try KeyRingStore(base)
      let opened = try await ring.open(with: key, settings: EncryptionSettings(), ifMissing: .refuse)
      _ = try await ring.update(opened) { $0.phase = .encrypting }
      #expect(try answer(writer, "put other new") == "encryptionUnfinished")
      #expect(try await base.entry("other") == nil)
      try await engine.close()
    }

    @Test(
      "A ring for declared keys, also one that is rotated, leaves other values in plain",
      arguments: [BaseStore.sqlite, .file])
    func declared(_ kind: BaseStore) async throws {
      let (writer, setter) = (try writer(kind), try writer(kind))
      let base = try await open(kind)
      let configuration = EncryptionConfiguration(only: { $0 == "secret" })
      let engine = try await EncryptedEngine.open(base, key: key, configuration: configuration)
      try await engine.put("secret", "s")
      for round in 0..<2 {
        #expect(try answer(writer, "put name \(round)") == "ok")
        for number in 0..<3 { #expect(try answer(setter, "submit theme \(number)") == "ok") }
        #expect(try await base.entry("name")?.value == Data("\(round)".utf8))
        #expect(try await base.entry("theme")?.value == Data("2".utf8))
        _ = try await engine.rotate().result()
      }
      #expect(try answer(writer, "put secret t") == "ok")
      #expect(try answer(setter, "submit secret u") == "unsupported")
      #expect(try await engine.text("secret") == "t")
      #expect(try await base.entry("secret")?.attributes.isSealed == true)
      try await engine.close()
    }
  }
#endif
