#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import CofferTesting
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

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
      try await engine.commit(WriteBatch([.delete(KeyName("token"))]), from: StoreOrigin())
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

    @Test("An answer at the last moment counts, and without any the outcome is unknown", arguments: ["late", "mute"])
    func dismissed(_ behavior: String) throws {
      let keyring = try ScriptedKeyring(behavior, on: bus)
      let client = client(.seconds(3))
      if behavior == "late" {
        let path = try client.create("a")
        #expect(try client.search(attributes("a")) == [path])
      } else {
        let error = try #require(throws: StorageError.self) { try client.create("a") }
        #expect(error.code == .outcomeUnknown, "\(error)")
      }
      #expect(keyring.calls.starts(with: ["CreateItem", "Prompt", "Dismiss"]))
    }

    @Test("Locked items are unlocked by one prompt, which is dismissed in time", arguments: ["locks", "keeps"])
    func unlocking(_ behavior: String) throws {
      let keyring = try ScriptedKeyring(behavior, on: bus)
      let client = client(prompts: true)
      let paths = try ["a", "b", "c"].map { try client.create($0) }
      if behavior == "locks" {
        #expect(try client.items(paths).map(\.path) == paths)
      } else {
        let connection = try BusConnection(address: bus.address, timeout: .seconds(20))
        let owner = try #require(try connection.owner(of: KeyringService.name))
        let service = KeyringService(connection: connection, owner: owner, patience: .milliseconds(100))
        let error = try #require(throws: NotOpen.self) { _ = try service.items(paths) }
        #expect(error.state == .prompting, "\(error)")
      }
      let calls = keyring.calls.filter { !["CreateItem", "GetAll"].contains($0) }
      #expect(calls == ["Unlock", "Prompt"] + (behavior == "locks" ? [] : ["Dismiss"]))
    }

    @Test("Absence is not proven by a locked keyring that is not the default one")
    func lockedElsewhere() throws {
      let keyring = try ScriptedKeyring("usual", on: bus)
      let client = client()
      let hidden = try #require(KeyringItemPath(KeyringService.path + "/collection/locked/i1"))
      #expect(code(of: { try client.delete(hidden) }) == .unavailable)
      #expect(code(of: { try client.setAttributes(hidden, attributes("a")) }) == .unavailable)
      #expect(code(of: { try client.items([hidden]) }) == .unavailable)
      #expect(code(of: { try client.secrets([hidden]) }) == .unavailable)
      let gone = try #require(KeyringItemPath(KeyringService.path + "/collection/gone/i1"))
      #expect(try !client.delete(gone) && client.items([gone]).isEmpty)
      withExtendedLifetime(keyring) {}
    }

    @Test("One deadline applies to all calls of a change")
    func slow() throws {
      let keyring = try ScriptedKeyring("slow", on: bus)
      let key = KeyName("token")
      let directory = try TemporaryDirectory()
      let slots = KeyringSlots(
        try KeyringScope(service: service, accessGroup: nil), accessibility: .whenUnlocked,
        keyringDirectory: "/dev/null",
        control: directory.url.path, address: bus.address, timeout: .seconds(2), allowsPlainSession: true)
      let account = KeyringAttribute("account", KeyringAccount(key).text)
      for _ in 0..<10 {
        _ = try client().create(
          label: "x", [KeyringAttribute("service", service), account], secret: Data("x".utf8), replace: false)
      }
      let error = try #require(throws: StorageError.self) { try slots.delete(.value(key)) }
      #expect([.unavailable, .outcomeUnknown].contains(error.code), "\(error)")
      #expect(keyring.calls.count { $0 == "Delete" } < 10)
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
        let read = {
          try HelperProcess(
            ["keyring-secret", path], environment: bus.environment, by: ["/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1"]
          ).lines()
        }
        var lines = try read()
        // Under one session key of 256, the bytes that "m" sends happen to end in valid padding.
        for _ in 0..<3 where letter == "m" && lines.last == "1 secrets" { lines = try read() }
        try #require(lines.count == 2, "\(lines)")
        #expect((lines[0] == "open") == (behavior == "secrets"), "\(lines)")
        #expect(lines[1].contains("The keyring"), "\(lines)")
      }
      withExtendedLifetime(keyring) {}
    }
  }
#endif
