#if SecretService && os(Linux)
  import CofferCore
  import CofferFileSystem
  import CofferSQLite
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// The store that a chain selects, depending on the state of a real keyring.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct SecretChainTests {
    private func chain(_ fixture: KeyringFixture) -> SecretChain {
      SecretChain(
        .keychain(service: service),
        .sealed(fixture.keyring.root.appendingPathComponent("secrets.sealed"), passphrase: passphrase("x")))
    }

    private func choose(
      _ fixture: KeyringFixture, timeout: Duration = .seconds(10)
    ) async throws -> SecretChain.Choice {
      let configuration = fixture.configuration { $0.timeout = timeout }
      return try await fixture.use { try await chain(fixture).choose(configuration: configuration) }
    }

    @Test("A sealed file is not created because the keyring hangs")
    func hung() async throws {
      let fixture = try KeyringFixture(password: "pw")
      defer { fixture.keyring.resume() }
      fixture.keyring.pause()
      try await expectError(.unavailable, "does not answer. It may exist") {
        _ = try await choose(fixture, timeout: .seconds(1))
      }
      let configuration = fixture.configuration { $0.timeout = .seconds(1) }
      try await fixture.use {
        try await expectError(.unavailable) { _ = try await chain(fixture).open(configuration: configuration) }
      }
      #expect(
        !FileManager.default.fileExists(atPath: fixture.keyring.root.appendingPathComponent("secrets.sealed").path))
      fixture.keyring.resume()
      try await eventually("taking the keyring") { (try? await choose(fixture).index) == 0 }
    }

    @Test("A keyring that is open or locked is selected")
    func present() async throws {
      let fixture = try KeyringFixture(password: "pw")
      #expect(try await choose(fixture).index == 0)
      try fixture.keyring.lock()
      #expect(try await choose(fixture).index == 0)
    }

    @Test("Without HOME the keyring has no journal, and the sealed file is used")
    func noHome() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let nowhere = SystemDirectories(bundleIdentifier: nil, processName: "shop") { _ in nil }
      let configuration = fixture.configuration()
      try await SystemDirectories.$current.withValue(nowhere) {
        let begun = try await chain(fixture).choose(configuration: configuration)
        #expect(begun.index == 1 && begun.reason.contains("HOME"), "\(begun)")
        let engine = try await chain(fixture).open(configuration: configuration)
        try await put("token", "x", into: engine)
        try await engine.close()
        let used = try await chain(fixture).choose(configuration: configuration)
        #expect(used.index == 1 && used.reason == "it holds secrets already", "\(used)")
      }
    }

    @Test("A keyring that is proven to be absent is skipped")
    func absent() async throws {
      let fixture = try KeyringFixture(password: "")
      var choice = try await choose(fixture)
      #expect(choice.index == 1 && choice.reason.contains("no default collection"), "\(choice)")
      fixture.keyring.stopDaemon()
      choice = try await choose(fixture)
      #expect(choice.index == 1 && choice.reason.contains("none can be started"), "\(choice)")
      fixture.keyring.stopBus()
      choice = try await choose(fixture)
      #expect(choice.index == 1 && choice.reason.contains("no session bus answers"), "\(choice)")
    }
  }
#endif
