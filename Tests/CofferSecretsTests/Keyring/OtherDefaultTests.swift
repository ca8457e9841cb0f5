#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// Another keyring becomes the default while the values are in the first.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct OtherDefaultTests {
    private let first = KeyringItemPath(PrivateKeyring.collection)

    private func note(_ fixture: KeyringFixture) -> URL {
      fixture.keyring.dataDirectory.appendingPathComponent("coffer/keychain/\(service)/keyrings")
    }

    @Test("Values in the former default keyring are read and written there")
    func kept() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      try await put("key", "kept", into: engine)
      #expect(try String(contentsOf: note(fixture), encoding: .utf8) == "login.keyring\n\(PrivateKeyring.collection)")
      let other = try fixture.makeCollection("Other")
      try fixture.setDefault(other)
      let heard = DeliveredCommits(engine)
      #expect(try await text("key", in: engine) == "kept")
      #expect(try await text("never was", in: engine) == nil)
      try await put("more", "1", into: engine)
      let former = {
        await fixture.use {
          KeychainInspection.formerKeyring(
            service: service, accessGroup: nil, configuration: fixture.configuration())
        }
      }
      #expect(try #require(await former()) == ("Login", false))
      // A foreign item of the same service in the new keyring is not one of the store.
      let theirs = try fixture.stranger.create(
        label: "x", KeyringFixture.attributes("theirs"), secret: Data("x".utf8), replace: false)
      #expect(theirs.parent == other)
      let again = try await fixture.open()
      #expect(try await values(again) == ["key": "kept", "more": "1"])
      #expect(try fixture.stranger.search([KeyringAttribute("service", service)], in: first).count == 2)
      // A locked one may have values, and says where they are.
      try fixture.keyring.lock()
      #expect(try #require(await former()) == ("Login", true))
      let words = "The values are in the keyring 'Login', which is locked and is not the default one."
      for store in [engine, again] {
        try await expectError(.unavailable, words) { _ = try await store.entry(KeyName("key")) }
        try await expectError(.unavailable, words) { _ = try await values(store) }
        try await expectError(.unavailable, words) { try await put("key", "over", into: store) }
      }
      try await again.close()
      try fixture.keyring.unlock("pw")
      try await eventually("working") { (try? await values(engine)) == ["key": "kept", "more": "1"] }
      #expect(heard.all.allSatisfy { $0.transaction != nil })
      try await engine.close()
    }

    @Test("Values in another keyring are found without a record of it")
    func withoutNote() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let other = try fixture.makeCollection("Other")
      try fixture.setDefault(other)
      let engine = try await fixture.open()
      try await put("key", "kept", into: engine)
      try await engine.close()
      try fixture.setDefault(try #require(first))
      try FileManager.default.removeItem(at: note(fixture))
      let former = await fixture.use {
        KeychainInspection.formerKeyring(
          service: service, accessGroup: nil, configuration: fixture.configuration())
      }
      #expect(try #require(former) == ("Other", false))
      let again = try await fixture.open()
      #expect(try await text("key", in: again) == "kept")
      try await put("more", "1", into: again)
      #expect(try await values(again) == ["key": "kept", "more": "1"])
      #expect(try fixture.stranger.search([KeyringAttribute("service", service)], in: other).count == 2)
      try await again.close()
    }

    @Test("Items of a group in the default keyring do not hide the values without a group in another one")
    func groups() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let other = try fixture.makeCollection("Other")
      try fixture.setDefault(other)
      let engine = try await fixture.open()
      try await put("key", "kept", into: engine)
      try await engine.close()
      try fixture.setDefault(try #require(first))
      let grouped = try await fixture.open(group: "team")
      try await put("key", "of the group", into: grouped)
      try await grouped.close()
      try FileManager.default.removeItem(at: note(fixture))
      let again = try await fixture.open()
      #expect(try await text("key", in: again) == "kept")
      #expect(try await values(again) == ["key": "kept"])
      try await again.close()
    }

    @Test("A store without values in the former default keyring uses the new one")
    func emptied() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      try await put("key", "gone", into: engine)
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      let other = try fixture.makeCollection("Other")
      try fixture.setDefault(other)
      #expect(try await values(engine) == [:])
      try await put("key", "new", into: engine)
      #expect(try await text("key", in: engine) == "new")
      #expect(try String(contentsOf: note(fixture), encoding: .utf8).hasSuffix("\n\(other)"))
      try await engine.close()
    }

    @Test("A record by an older version contains no collection and is read as before")
    func oldNote() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      try await put("key", "kept", into: engine)
      try Data("login.keyring".utf8).write(to: note(fixture))
      #expect(try await text("never was", in: engine) == nil)
      #expect(try await text("key", in: engine) == "kept")
      try await engine.close()
      let again = try await fixture.open()
      #expect(try await values(again) == ["key": "kept"])
      try await put("key", "new", into: again)
      #expect(try String(contentsOf: note(fixture), encoding: .utf8).hasSuffix("\n" + PrivateKeyring.collection))
      try await again.close()
    }

    @Test("Values in a deleted keyring are absent")
    func deleted() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let other = try fixture.makeCollection("Other")
      try fixture.setDefault(other)
      let engine = try await fixture.open()
      try await put("key", "kept", into: engine)
      try fixture.setDefault(try #require(first))
      #expect(try await text("key", in: engine) == "kept")
      try fixture.deleteCollection(other)
      #expect(try await text("key", in: engine) == nil)
      try await engine.close()
    }
  }

  extension KeyringFixture {
    /// Calls the keyring as a keyring program does.
    private func ask(_ method: BusMethod, at path: String, _ arguments: [BusValue]) throws -> BusValue {
      let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
      return try connection.call(method, of: KeyringService.name, at: path, arguments)
    }

    /// Creates a second keyring, which is open, without a prompt.
    fileprivate func makeCollection(_ label: String) throws -> KeyringItemPath {
      let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
      guard let owner = try connection.owner(of: KeyringService.name) else {
        throw TestFailure("no keyring is running")
      }
      let session = try SecretSession(connection: connection, owner: owner, timeout: .seconds(10))
      let method = BusMethod(
        "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "CreateWithMasterPassword", reply: "(o)")
      let properties = BusValue.properties([("org.freedesktop.Secret.Collection.Label", .string(label))])
      let arguments = [properties, try session.encode(Data("pw".utf8))]
      let reply = try connection.call(method, of: owner, at: KeyringService.path, arguments)
      guard let path = reply[0]?.itemPath else { throw TestFailure("no collection was created") }
      return path
    }

    fileprivate func setDefault(_ collection: KeyringItemPath) throws {
      let method = BusMethod("org.freedesktop.Secret.Service", "SetAlias", reply: "()")
      _ = try ask(method, at: KeyringService.path, [.string("default"), .objectPath(collection.description)])
    }

    fileprivate func deleteCollection(_ collection: KeyringItemPath) throws {
      _ = try ask(BusMethod(BusMethod.collection, "Delete", reply: "(o)"), at: collection.description, [])
    }
  }
#endif
