import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  @Suite(
    "Watching a real keyring", .blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason),
    .timeLimit(.minutes(15)))
  struct WatchTests {
    private let keyring: PrivateKeyring
    private let client: SecretServiceClient
    private let events = Events<SecretServiceEvent>()

    init() throws {
      keyring = try PrivateKeyring(password: "pw")
      client = SecretServiceClient(address: keyring.address, timeout: .seconds(10))
    }

    private func watch() -> SecretServiceWatch {
      SecretServiceWatch(address: keyring.address, timeout: .seconds(10)) { [events] in events.add($0) }
    }

    @Test("Changes by another client are delivered: creation, replacement, change and deletion")
    func changes() throws {
      let watch = watch()
      let path = try client.create("heard")
      #expect(events.has { $0 == .item(path) })
      events.forget()
      try client.create("heard", Data("2".utf8))
      #expect(events.has { $0 == .item(path) })
      events.forget()
      try client.setAttributes(path, attributes("moved"))
      #expect(events.has { $0 == .item(path) })
      events.forget()
      try client.delete(path)
      #expect(events.has { $0 == .item(path) })
      #expect(!events.all.contains(.availability))
      withExtendedLifetime(watch) {}
    }

    /// Unlocks the keyring as a prompt does, with which it sends signals.
    private func unlockOverBus(_ password: String) throws {
      let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
      let owner = try #require(try connection.owner(of: KeyringService.name))
      let session = try SecretSession(connection: connection, owner: owner, timeout: .seconds(10))
      let unlock = BusMethod(
        "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "UnlockWithMasterPassword", reply: "()")
      let collection = try #require(KeyringItemPath(PrivateKeyring.collection))
      _ = try connection.call(
        unlock, of: owner, at: KeyringService.path,
        [.objectPath(collection.description), session.encode(Data(password.utf8))])
    }

    @Test("A restart of the keyring is delivered")
    func restart() throws {
      let watch = watch()
      keyring.stopDaemon()
      #expect(events.has { $0 == .availability })
      events.forget()
      try keyring.startDaemon(password: "pw")
      #expect(events.has { $0 == .availability })
      let path = try client.create("heard")
      #expect(events.has { $0 == .item(path) })
      withExtendedLifetime(watch) {}
    }

    @Test("A restart of the bus is delivered")
    func busRestart() throws {
      let watch = watch()
      keyring.stopBus()
      #expect(events.has { $0 == .availability })
      events.forget()
      keyring.stopDaemon()
      try keyring.startBus()
      #expect(events.has { $0 == .availability })
      try keyring.startDaemon(password: "pw")
      let path = try client.create("heard")
      #expect(events.has { $0 == .item(path) })
      withExtendedLifetime(watch) {}
    }

    @Test("A callback may use the keyring and end its watch")
    func callsBack() throws {
      let states = Events<SecretServiceState>()
      let holder = Locked<SecretServiceWatch?>(nil)
      let watch = SecretServiceWatch(address: keyring.address) { [client] _ in
        states.add(client.state())
        holder.withLock { $0 = nil }
      }
      holder.withLock { $0 = watch }
      try client.create("heard")
      #expect(states.has { $0 == .open })
    }

    @Test("After its end a watch delivers nothing and releases its callback")
    func ends() throws {
      weak var held: Events<SecretServiceEvent>?
      do {
        let own = Events<SecretServiceEvent>()
        held = own
        let watch = SecretServiceWatch(address: keyring.address) { own.add($0) }
        let path = try client.create("heard")
        #expect(own.has { $0 == .item(path) })
        watch.end()
        watch.end()
        // Another watch receives the event, which proves that the first one could have.
        let other = self.watch()
        let unheard = try client.create("unheard")
        #expect(events.has { $0 == .item(unheard) })
        #expect(!own.all.contains(.item(unheard)))
        withExtendedLifetime(other) {}
      }
      try blockUntil("the watch is released") { held == nil }
    }

    @Test("A hundred watches do not leak connections")
    func leaks() throws {
      #expect(client.state() == .open)
      for _ in 0..<100 { watch().end() }
      #expect(try connections(of: keyring, awaiting: 3) == 3)
    }
  }
#endif
