#if SecretService && os(Linux)
  import CofferCore
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  @Suite("Finding the bus", .blocking)
  struct BusTests {
    @Test(
      "No process listens at the address",
      arguments: ["unix:path=/nowhere/bus", "nonsense", "tcp:host=127.0.0.1,port=1"])
    func nobody(_ address: String) {
      let client = SecretServiceClient(address: address, timeout: .milliseconds(500))
      #expect(client.state().isNoBus)
      #expect(code { try client.search([]) } == .unavailable)
    }

    @Test("A bus that accepts connections and never replies times out")
    func silence() throws {
      let folder = try TemporaryDirectory()
      let socket = try ListeningSocket(folder.path("s"))
      let client = SecretServiceClient(address: "unix:path=\(socket.path)", timeout: .milliseconds(200))
      var state = SecretServiceState.open
      #expect(duration { state = client.state() } < .seconds(10))
      #expect(state == .noAnswer(reason: "the session bus does not answer"))
    }
  }

  @Suite(
    "States of a real keyring", .blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason),
    .timeLimit(.minutes(15)))
  struct StateTests {
    private func client(_ keyring: PrivateKeyring, timeout: Duration = .seconds(10)) -> SecretServiceClient {
      SecretServiceClient(address: keyring.address, timeout: timeout)
    }

    @Test("Open")
    func open() throws {
      let keyring = try PrivateKeyring()
      #expect(client(keyring).state() == .open)
    }

    @Test("There is no keyring on the bus")
    func noService() throws {
      let keyring = try PrivateKeyring(password: nil)
      let client = client(keyring)
      #expect(client.state().isNoService)
      #expect(code { try client.search([]) } == .unavailable)
      #expect(code { try client.create("x") } == .unavailable)
      try keyring.startDaemon(password: "pw")
      #expect(client.state() == .open)
    }

    @Test("A keyring that the bus can activate is started, without a prompt")
    func activated() throws {
      let keyring = try PrivateKeyring(password: nil, activatable: true)
      let client = client(keyring)
      #expect(client.state() == .noDefaultCollection)
      #expect(code { try client.create("x") } == .unavailable)
    }

    @Test("A keyring without a default collection is reported as such")
    func noDefaultCollection() throws {
      let keyring = try PrivateKeyring(password: "")
      let client = client(keyring)
      #expect(client.state() == .noDefaultCollection)
      #expect(code { try client.search([]) } == .unavailable)
    }

    @Test("A wrong password leaves it locked")
    func wrongPassword() throws {
      let keyring = try PrivateKeyring(password: "right")
      let client = client(keyring)
      let path = try client.create("kept")
      try keyring.startDaemon(password: "wrong")
      #expect(client.state() == .locked)
      #expect(code { try client.secrets([path]) } == .unavailable)
      try keyring.unlock("right")
      #expect(try client.secrets([path]).count == 1)
    }

    @Test("While it is locked nothing is reported as absent, nothing changes and there is no prompt")
    func locked() throws {
      let keyring = try PrivateKeyring(password: "pw")
      let client = client(keyring)
      let path = try client.create("kept")
      let gone = try client.create("gone")
      try client.delete(gone)
      try keyring.lock()
      #expect(client.state() == .locked)
      #expect(code { try client.search(attributes("kept")) } == .unavailable)
      #expect(code { try client.search(attributes("never was")) } == .unavailable)
      for path in [path, gone] {
        #expect(code { try client.items([path]) } == .unavailable)
        #expect(code { try client.secrets([path]) } == .unavailable)
        #expect(code { try client.setAttributes(path, attributes("x")) } == .unavailable)
        #expect(code { try client.delete(path) } == .unavailable)
      }
      #expect(code { try client.create("new") } == .unavailable)
      try keyring.unlock("pw")
      #expect(client.state() == .open)
      #expect(try client.search([KeyringAttribute("service", "coffer.test")]) == [path])
    }

    @Test("A hung keyring times out, and a change that may have happened is reported as such")
    func hung() throws {
      let keyring = try PrivateKeyring()
      let client = client(keyring, timeout: .seconds(1))
      let path = try self.client(keyring).create("kept")
      keyring.pause()
      var state = SecretServiceState.open
      #expect(duration { state = client.state() } < .seconds(10))
      #expect(state == .noAnswer(reason: "it does not answer"))
      #expect(code { try client.search([]) } == .unavailable)
      #expect(code { try client.create("x") } == .unavailable)
      #expect(code { try client.setAttributes(path, attributes("changed")) } == .outcomeUnknown)
      keyring.resume()
      try blockUntil("it answers again") { client.state() == .open }
      #expect(try client.secrets([path]).count == 1)
    }

    @Test("After the keyring was killed the same client connects again, with a new session")
    func restarted() throws {
      let keyring = try PrivateKeyring(password: "pw")
      let client = client(keyring)
      let path = try client.create("kept", Data("before".utf8))
      keyring.stopDaemon()
      #expect(client.state().isNoService)
      try keyring.startDaemon(password: "pw")
      #expect(client.state() == .open)
      #expect(try client.secrets([path]).map(\.data) == [Data("before".utf8)])
      try client.create("more", Data("after".utf8))
    }

    @Test("Confirmed changes survive the immediate kill of the keyring")
    func confirmed() throws {
      let keyring = try PrivateKeyring(password: "pw")
      let client = client(keyring)
      func kill() throws {
        keyring.stopDaemon()
        try keyring.startDaemon(password: "pw")
      }
      let path = try client.create("made", Data("1".utf8))
      try kill()
      #expect(try client.secrets([path]).map(\.data) == [Data("1".utf8)])
      try client.create("made", Data("2".utf8))
      try kill()
      #expect(try client.secrets([path]).map(\.data) == [Data("2".utf8)])
      try client.setAttributes(path, attributes("moved"))
      try kill()
      #expect(try client.search(attributes("moved")) == [path])
      try client.delete(path)
      try kill()
      #expect(try client.search([KeyringAttribute("service", "coffer.test")]) == [])
    }

    @Test("The end of the bus does not end this process, which connects again after a restart")
    func busRestarted() throws {
      let keyring = try PrivateKeyring(password: "pw")
      let client = client(keyring)
      let path = try client.create("kept")
      keyring.stopBus()
      #expect(client.state().isNoBus)
      #expect(code { try client.secrets([path]) } == .unavailable)
      #expect(code { try client.delete(path) } == .unavailable)
      keyring.stopDaemon()
      try keyring.startBus()
      try keyring.startDaemon(password: "pw")
      #expect(client.state() == .open)
      #expect(try client.secrets([path]).count == 1)
    }

    @Test("A locked keyring that could show a prompt shows none", .enabled(if: Display.isInstalled, "no Xvfb"))
    func display() throws {
      let display = try Display()
      let keyring = try PrivateKeyring(password: "right")
      let client = client(keyring)
      let path = try client.create("kept")
      try keyring.startDaemon(password: "wrong", display: display.name)
      #expect(client.state() == .locked)
      #expect(code { try client.delete(path) } == .unavailable)
      #expect(code { try client.create("x") } == .unavailable)
    }

    @Test("Errors contain advice")
    func words() throws {
      let keyring = try PrivateKeyring()
      try keyring.lock()
      let client = client(keyring)
      let error = try #require(throws: StorageError.self) { try client.search([]) }
      #expect(error.code == .unavailable)
      #expect(error.message == "The login keyring is locked, so its contents cannot be read.")
      #expect(error.advice.hasPrefix("Unlock it"))
      #expect(error.location == "keyring:org.freedesktop.secrets")
    }
  }
#endif
