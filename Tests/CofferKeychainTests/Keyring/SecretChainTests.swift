#if SecretService && os(Linux)
  import CofferCore
  import CofferFileSystem
  import CofferSQLite
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferKeychain

  /// Which home a chain begins, by what a real keyring says or does not say.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, whyNoKeyring), .timeLimit(.minutes(15)))
  struct SecretChainTests {
    private func chain(_ place: KeyringPlace) -> SecretChain {
      SecretChain(
        .keychain(service: service),
        .sealed(place.keyring.root.appendingPathComponent("secrets.sealed"), passphrase: passphrase("x")))
    }

    private func choose(_ place: KeyringPlace, timeout: Duration = .seconds(10)) async throws -> SecretChain.Choice {
      let configuration = place.configuration { $0.timeout = timeout }
      return try await place.use { try await chain(place).choose(configuration: configuration) }
    }

    @Test("A keyring that hangs is no reason to begin the sealed file")
    func hung() async throws {
      let place = try KeyringPlace(password: "pw")
      defer { place.keyring.resume() }
      place.keyring.pause()
      try await expectError(.unavailable, "does not answer. It may be there") {
        _ = try await choose(place, timeout: .seconds(1))
      }
      let configuration = place.configuration { $0.timeout = .seconds(1) }
      try await place.use {
        try await expectError(.unavailable) { _ = try await chain(place).open(configuration: configuration) }
      }
      #expect(!FileManager.default.fileExists(atPath: place.keyring.root.appendingPathComponent("secrets.sealed").path))
      place.keyring.resume()
      try await eventually("taking the keyring") { try await choose(place).index == 0 }
    }

    @Test("A keyring that is open or locked is taken")
    func present() async throws {
      let place = try KeyringPlace(password: "pw")
      #expect(try await choose(place).index == 0)
      try place.keyring.lock()
      #expect(try await choose(place).index == 0)
    }

    @Test("Without HOME the keyring has no journal, and the sealed file is used all the same")
    func noHome() async throws {
      let place = try KeyringPlace(password: "pw")
      let nowhere = SystemDirectories(bundleIdentifier: nil, processName: "shop") { _ in nil }
      let configuration = place.configuration()
      try await SystemDirectories.$current.withValue(nowhere) {
        let begun = try await chain(place).choose(configuration: configuration)
        #expect(begun.index == 1 && begun.reason.contains("HOME"), "\(begun)")
        let engine = try await chain(place).open(configuration: configuration)
        try await put("token", "x", into: engine)
        try await engine.close()
        let used = try await chain(place).choose(configuration: configuration)
        #expect(used.index == 1 && used.reason == "it holds secrets already", "\(used)")
      }
    }

    @Test("A keyring that is proven to be absent is passed over")
    func absent() async throws {
      let place = try KeyringPlace(password: "")
      var choice = try await choose(place)
      #expect(choice.index == 1 && choice.reason.contains("no default collection"), "\(choice)")
      place.keyring.stopDaemon()
      choice = try await choose(place)
      #expect(choice.index == 1 && choice.reason.contains("none can be started"), "\(choice)")
      place.keyring.stopBus()
      choice = try await choose(place)
      #expect(choice.index == 1 && choice.reason.contains("no session bus answers"), "\(choice)")
    }
  }
#endif
