#if SecretService && os(Linux)
  import CofferCore
  import CofferProcessTesting
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferKeychain

  /// Keyrings other than gnome-keyring, and ones that send what no keyring should.
  @Suite(
    "Other keyrings", .blocking, .serialized, .enabled(if: canTestKeyring && ScriptedKeyring.isInstalled),
    .timeLimit(.minutes(15)))
  struct ScriptedKeyringTests {
    private let bus: PrivateKeyring

    init() throws { bus = try PrivateKeyring(password: nil) }

    private func client(_ timeout: Duration = .seconds(20), prompts: Bool = false) -> SecretServiceClient {
      SecretServiceClient(address: bus.address, timeout: timeout, allowsPlainSession: true, allowsPrompts: prompts)
    }

    @Test("A prompt that shows nothing, as KeePassXC's, is completed; the new item is its result")
    func prompts() throws {
      let keyring = try ScriptedKeyring("prompts", on: bus)
      let client = client()
      let path = try client.create("a", Data("s3cret".utf8))
      #expect(try client.search(attributes("a")) == [path])
      #expect(try client.secrets([path]).map(\.data) == [Data("s3cret".utf8)])
      #expect(try client.delete(path))
      #expect(try client.search(attributes("a")) == [])
      #expect(keyring.calls.count { $0 == "Prompt" } == 2 && !keyring.calls.contains("Dismiss"))
    }

    @Test("A store writes, reads and removes secrets in such a keyring, which adds attributes of its own")
    func store() async throws {
      let fixture = try KeyringFixture(password: nil)
      let keyring = try ScriptedKeyring("prompts", on: fixture.keyring)
      let engine = try await fixture.open {
        $0.allowsPlainSession = true
        $0.timeout = .seconds(20)
      }
      try await put("token", "first", into: engine)
      try await put("token", "second", into: engine)
      #expect(try await text("token", in: engine) == "second")
      #expect(try await values(engine) == ["token": "second"])
      try await engine.commit(WriteBatch([.delete(StoreKey("token"))]), from: StoreOrigin())
      #expect(try await values(engine) == [:])
      try await engine.close()
      #expect(!keyring.calls.contains("Dismiss"))
    }

    @Test("A prompt that waits for the user is dismissed in time, and the error says how to allow it")
    func asks() throws {
      let keyring = try ScriptedKeyring("asks", on: bus)
      let client = client(.seconds(3))
      let error = try #require(throws: StorageError.self) { try client.create("a") }
      #expect(error.code == .unavailable && error.message.contains("python3 asks the user"), "\(error)")
      #expect(error.advice.contains("COFFER_ALLOW_KEYRING_PROMPTS=1"))
      #expect(keyring.calls == ["CreateItem", "Prompt", "Dismiss"])
      #expect(try client.search(attributes("a")) == [])
    }

    @Test("A prompt that the user declines changes nothing", arguments: [false, true])
    func declines(_ areAllowed: Bool) throws {
      let keyring = try ScriptedKeyring("declines", on: bus)
      let client = client(prompts: areAllowed)
      let error = try #require(throws: StorageError.self) { try client.create("a") }
      #expect(error.code == .unavailable && error.message.contains("nobody has allowed it"), "\(error)")
      #expect(keyring.calls.starts(with: ["CreateItem", "Prompt"]))
      #expect(try client.search(attributes("a")) == [])
    }

    @Test("A keyring that claims 300,000 items costs one deadline for each operation")
    func claims() throws {
      let keyring = try ScriptedKeyring("claims", on: bus)
      let client = client(.seconds(2))
      #expect(client.state() == .open)
      let error = try #require(throws: StorageError.self) {
        _ = try client.operation { try client.items(client.search([KeyringAttribute("service", service)])) }
      }
      #expect(error.code == .unavailable, "\(error)")
      #expect(keyring.calls.count { $0 == "SearchItems" } == 1)
    }

    @Test(
      "A malformed session or secret is an error in words, and nothing else is printed",
      arguments: ["type", "secrets"])
    func malformed(_ behavior: String) throws {
      let keyring = try ScriptedKeyring(behavior, on: bus)
      for letter in behavior == "secrets" ? ["i", "j", "k", "l", "m"] : ["m"] {
        let path = "/org/freedesktop/secrets/collection/login/\(letter)"
        // The shell adds what is printed on standard error.
        let helper = try HelperProcess(
          ["keyring-secret", path], environment: bus.environment, by: ["/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1"])
        let lines = try helper.lines()
        try #require(lines.count == 2, "\(lines)")
        #expect((lines[0] == "open") == (behavior == "secrets"), "\(lines)")
        #expect(lines[1].contains("The keyring"), "\(lines)")
      }
      withExtendedLifetime(keyring) {}
    }
  }
#endif
