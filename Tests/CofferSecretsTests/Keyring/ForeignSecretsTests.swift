#if SecretService && os(Linux)
  import CofferCore
  import CofferSQLite
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// Secrets that other libraries have stored in a real keyring are recognized, and imported.
  @Suite(
    "Foreign secrets", .blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason),
    .timeLimit(.minutes(10)))
  struct ForeignSecretsTests {
    private let fixture: KeyringFixture

    init() throws { fixture = try KeyringFixture() }

    private func legacy(_ form: String, _ service: String, _ count: Int = 0) throws {
      let program = try HelperProcess(
        [form, service, "\(count)"], executable: "LegacyProgram", environment: fixture.keyring.environment)
      try #require(program.wait() == 0)
    }

    private func control(_ service: String) -> String {
      fixture.keyring.dataDirectory.path + "/coffer/keychain/" + service
    }

    /// Opens the service, and returns what was recognized.
    private func refusal(_ service: String, _ access: StoreAccess = .readWrite) async throws -> ForeignData {
      let error = await #expect(throws: StorageError.self) {
        _ = try await fixture.open(service) { $0.store.access = access }
      }
      #expect(error?.code == .foreignFormat, "\(String(describing: error))")
      #expect(error?.description.contains("John") == false)
      return try #require(error?.foreignData)
    }

    @Test(
      "The printed adapter's service is refused in every access, and nothing is created",
      arguments: [
        "com.axiom.storage", "com.example.shop",
      ])
    func printedAdapter(_ service: String) async throws {
      try legacy("keychain", service)
      for access in [StoreAccess.readOnly, .readWrite, .readWriteOrReadOnly] {
        let found = try await refusal(service, access)
        #expect(found.container == .keychain && found.encodings == [.jsonText: 3])
        #expect(found.examples == ["theme", "token", "userName"])
      }
      #expect(!FileManager.default.fileExists(atPath: control(service)))
      let blocking = await fixture.use { KeychainAdapter(service: service, configuration: fixture.configuration()) }
      await #expect(throws: StorageError.self) { try await blocking.get("missing") }
      #expect(try fixture.items(of: service).count == 3)
    }

    @Test("Objects with a transaction id are recognized inside of their second encoding")
    func storedObjects() async throws {
      try legacy("keychain-objects", service)
      #expect(try await refusal(service).encodings == [.storedObject: 2])
    }

    @Test("An item without an account, which no key leads to, is not reported as absent")
    func otherAttributes() async throws {
      try legacy("user-names", service)
      let found = try await refusal(service)
      #expect(found.encodings == [.plain: 1] && found.examples == ["alice"])
    }

    @Test("Plain secrets and objects under an account are normal values")
    func plainSecrets() async throws {
      try legacy("passwords", service)
      let engine = try await fixture.open()
      #expect(try await values(engine) == ["token": "s3cret", "object": "{\"expires\":1}"])
      try await engine.close()
    }

    @Test("What is declared to be ignored is a value, and stays so; what is stored later is an edit")
    func ignored() async throws {
      try legacy("keychain", service)
      let engine = try await fixture.open { $0.store.foreignData = .ignore }
      #expect(try await text("userName", in: engine) == "\"John\"")
      try await engine.close()
      let again = try await fixture.open()
      #expect(try await text("userName", in: again) == "\"John\"")
      try await again.close()
      let used = try await fixture.open("com.example.used")
      try await used.close()
      try legacy("keychain", "com.example.used")
      let edited = try await fixture.open("com.example.used")
      #expect(try await text("userName", in: edited) == "\"John\"")
      try await edited.close()
    }

    @Test("A keyring that is locked at first is asked at the first use, by any process")
    func lockedAtFirst() async throws {
      try legacy("keychain", service)
      try fixture.keyring.lock()
      let engine = try await fixture.open()
      await #expect(throws: StorageError.self) { try await engine.entry("userName") }
      try fixture.keyring.unlock("correct horse")
      for key in ["userName", "missing"] {
        let error = await #expect(throws: StorageError.self) { try await engine.entry(KeyName(key)) }
        #expect(error?.code == .foreignFormat, "\(String(describing: error))")
      }
      let batch = WriteBatch([.put("theme", Data("light".utf8))])
      await #expect(throws: StorageError.self) { try await engine.commit(batch, from: StoreOrigin()) }
      try await engine.close()
      #expect(try await refusal(service).count == 3, "the journal of the locked opening is no proof")
      #expect(try fixture.items().count == 3)
    }

    @Test("A keyring that was locked at first and has no foreign secret becomes a store")
    func emptyAtFirst() async throws {
      try fixture.keyring.lock()
      let engine = try await fixture.open()
      try fixture.keyring.unlock("correct horse")
      try await put("key", "value", into: engine)
      #expect(!FileManager.default.fileExists(atPath: control(service) + "/unchecked"))
      try await engine.close()
    }

    @Test(
      "Secrets are imported, and removed; a keyring that is locked half-way loses nothing, and the next run goes on")
    func imported() async throws {
      let count = 300
      try legacy("various-secrets", service, count)
      let store = fixture.keyring.root.appendingPathComponent("new.db").path
      let arguments = ["import", "sqlite:\(store)", "keychain:\(service)"]
      let helper = try HelperProcess(arguments + ["pause"], environment: fixture.keyring.environment)
      var line = try helper.line()
      while let present = line, present != "committed" { line = try helper.line() }
      try fixture.keyring.lock()
      helper.tell("go on")
      let ended = try helper.lines().last
      #expect(ended?.hasPrefix("failed unavailable: ") == true, "\(ended ?? "-")")
      #expect(helper.wait() == 0)
      let locked = try HelperProcess(arguments, environment: fixture.keyring.environment)
      #expect(try locked.lines().last?.hasPrefix("failed unavailable") == true)
      try fixture.keyring.unlock("correct horse")
      let names = Set((0..<count).map { "key-\($0)" })
      let left = try fixture.items().compactMap { $0.text(of: "account") }
      let stored = try await keys(store)
      #expect(!stored.isEmpty && stored.count < count && stored.union(left) == names)
      let last = try HelperProcess(arguments, environment: fixture.keyring.environment)
      let report = try #require(try last.lines().last)
      #expect(report.hasPrefix("done ") && report.hasSuffix(" \(count)"), "\(report)")
      #expect(try await keys(store) == names)
      #expect(try fixture.items().isEmpty)
      let opened = try await fixture.open()
      try await opened.close()
    }

    private func keys(_ path: String) async throws -> Set<String> {
      let engine = try await SQLiteEngine.open(at: path)
      let keys = try await engine.summaries().map(\.key.string)
      try await engine.close()
      return Set(keys)
    }
  }
#endif
