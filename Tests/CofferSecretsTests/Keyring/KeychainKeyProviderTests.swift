import CofferCore
import CofferEncryption
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSecrets

#if SecretService && os(Linux)
  @Suite(
    "Key material in a real keyring", .blocking, .serialized,
    .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct KeychainKeyProviderTests {
    private func open(
      _ fixture: KeyringFixture, _ engine: any StorageEngine, item: KeyMaterialSource = "root"
    ) async throws -> OpenKeyRing {
      try await fixture.use {
        let source = RootKeySource.keychain(service: service, item: item, configuration: fixture.configuration())
        return try await KeyRingStore(engine).open(with: source, settings: EncryptionSettings())
      }
    }

    // Requirement 1.63
    @Test("The first store creates the item, and the same item opens it again")
    func created() async throws {
      let fixture = try KeyringFixture()
      let engine = MemoryEngine()
      let first = try await open(fixture, engine)
      #expect(try await open(fixture, engine).ring == first.ring)
      let material = try await fixture.open().entry("root")?.value
      let text = try #require(material.map { String(decoding: $0, as: UTF8.self) })
      #expect(text.count == 64 && text.allSatisfy(\.isHexDigit))
      // A copy of the item opens the store as a file.
      let folder = try TemporaryDirectory()
      try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: folder.path("key")))
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("key"))
      let copy = RootKeySource.file(folder.path("key"))
      #expect(try await KeyRingStore(engine).open(with: copy, settings: EncryptionSettings()).ring == first.ring)
    }

    // Requirement 1.63
    @Test("A locked keyring, or none, is unavailable and leads to no new key")
    func locked() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = MemoryEngine()
      let first = try await open(fixture, engine)
      try fixture.keyring.lock()
      try await expectError(.unavailable) { _ = try await open(fixture, engine) }
      try await expectError(.unavailable) { _ = try await open(fixture, MemoryEngine()) }
      try await expectError(.unavailable) { _ = try await open(fixture, MemoryEngine(), item: "other") }
      try fixture.keyring.unlock("pw")
      #expect(try await open(fixture, engine).ring == first.ring)
      fixture.keyring.stopDaemon()
      try await expectError(.unavailable) { _ = try await open(fixture, engine) }
      try await expectError(.unavailable) { _ = try await open(fixture, MemoryEngine(), item: "third") }
    }

    @Test("A missing item of an existing store is not replaced by a new one")
    func missing() async throws {
      let fixture = try KeyringFixture()
      let engine = MemoryEngine()
      _ = try await open(fixture, engine)
      let keychain = try await fixture.open()
      try await keychain.commit(WriteBatch([.delete("root")]), from: StoreOrigin())
      let error = await expectStorageError(.notFound, contains: "'root'") { _ = try await open(fixture, engine) }
      #expect(error?.message.contains("no key material") == true)
      #expect(try await keychain.entry("root") == nil)
    }

    @Test("Processes that create an item at once receive the same material")
    func race() async throws {
      let keyring = try PrivateKeyring()
      for round in 0..<3 {
        let helpers = try (0..<3).map { _ in
          try HelperProcess(["keyring-material", service, "item \(round)"], environment: keyring.environment)
        }
        let lines = try helpers.map { try $0.lines() }
        #expect(Set(lines).count == 1 && lines[0].count == 1 && lines[0][0].hasPrefix("ack "), "\(lines)")
      }
    }

    @Test("Providers are equal if they use the same items")
    func equality() {
      let source = RootKeySource.keychain(service: service)
      #expect(source == .keychain(service: service) && source != .keychain(service: "other"))
      #expect(source != .keychain(service: service, item: "other"))
      #expect("\(source)" == "the key provider 'encryption-key'")
    }
  }
#endif
