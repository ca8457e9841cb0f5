#if SecretService && os(Linux)
  import CofferBus
  import CofferCore
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferKeychain

  /// Somebody chooses another default keyring while the values are in the first.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, whyNoKeyring), .timeLimit(.minutes(15)))
  struct OtherDefaultTests {
    private let first = KeyringItemPath(PrivateKeyring.collection)

    private func note(_ place: KeyringPlace) -> URL {
      place.keyring.dataDirectory.appendingPathComponent("coffer/keychain/\(service)/keyrings")
    }

    @Test("What is in the former default keyring is not called deleted")
    func hidden() async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      try await put("key", "kept", into: engine)
      #expect(try String(contentsOf: note(place), encoding: .utf8) == "login.keyring\n\(PrivateKeyring.collection)")
      let other = try place.makeCollection("Other")
      try place.setDefault(other)
      let heard = HeardCommits(engine)
      let words = "The default keyring is now 'Other', and the values are in 'Login'."
      try await expectError(.unavailable, words) { _ = try await engine.entry(StoreKey("key")) }
      try await expectError(.unavailable, words) { _ = try await engine.entry(StoreKey("never was")) }
      try await expectError(.unavailable, words) { _ = try await values(engine) }
      try await expectError(.unavailable, words) { try await put("key", "over", into: engine) }
      try await expectError(.unavailable, "default again") {
        try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      }
      // Nor to one that opens it, and also while nobody can look into the former.
      let again = try await place.open()
      try await expectError(.unavailable, words) { _ = try await again.entry(StoreKey("key")) }
      try place.keyring.lock()
      try await expectError(.unavailable, words) { _ = try await again.entry(StoreKey("key")) }
      try await again.close()
      // What somebody else writes under our service into the new one makes ours no more deleted.
      let theirs = try place.stranger.create(
        label: "x", KeyringPlace.attributes("theirs"), secret: Data("x".utf8), replace: false)
      try await expectError(.unavailable, words) { _ = try await values(engine) }
      try place.stranger.delete(theirs)
      try place.keyring.unlock("pw")
      try place.setDefault(try #require(first))
      try await eventually("working") { try await values(engine) == ["key": "kept"] }
      #expect(heard.all.isEmpty)
      try await put("key", "again", into: engine)
      #expect(try await text("key", in: engine) == "again")
      try await engine.close()
    }

    @Test("A store that has nothing in the former default keyring goes on in the new one")
    func emptied() async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      try await put("key", "gone", into: engine)
      try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      let other = try place.makeCollection("Other")
      try place.setDefault(other)
      #expect(try await values(engine) == [:])
      try await put("key", "new", into: engine)
      #expect(try await text("key", in: engine) == "new")
      #expect(try String(contentsOf: note(place), encoding: .utf8).hasSuffix("\n\(other)"))
      try await engine.close()
    }

    @Test("A note that an older version has left names no collection, and is read as before")
    func oldNote() async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      try await put("key", "kept", into: engine)
      try Data("login.keyring".utf8).write(to: note(place))
      #expect(try await text("never was", in: engine) == nil)
      #expect(try await text("key", in: engine) == "kept")
      try await engine.close()
      let again = try await place.open()
      #expect(try await values(again) == ["key": "kept"])
      try await put("key", "new", into: again)
      #expect(try String(contentsOf: note(place), encoding: .utf8).hasSuffix("\n" + PrivateKeyring.collection))
      try await again.close()
    }

    @Test("What was in a keyring that was deleted is gone")
    func deleted() async throws {
      let place = try KeyringPlace(password: "pw")
      let other = try place.makeCollection("Other")
      try place.setDefault(other)
      let engine = try await place.open()
      try await put("key", "kept", into: engine)
      try place.setDefault(try #require(first))
      try await expectError(.unavailable, "the values are in 'Other'") { _ = try await engine.entry(StoreKey("key")) }
      try place.deleteCollection(other)
      #expect(try await text("key", in: engine) == nil)
      try await engine.close()
    }
  }

  extension KeyringPlace {
    /// Calls the keyring as its keyring program does.
    private func ask(_ method: BusMethod, at path: String, _ arguments: [BusValue]) throws -> BusValue {
      let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
      return try connection.call(method, of: KeyringService.name, at: path, arguments)
    }

    /// Makes a second keyring, which is open, without a question to the user.
    fileprivate func makeCollection(_ label: String) throws -> KeyringItemPath {
      let connection = try BusConnection(address: keyring.address, timeout: .seconds(10))
      guard let owner = try connection.owner(of: KeyringService.name) else {
        throw TestFailure("no keyring runs")
      }
      let session = try SecretSession(connection: connection, owner: owner, timeout: .seconds(10))
      let method = BusMethod(
        "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "CreateWithMasterPassword", reply: "(o)")
      let properties = BusValue.properties([("org.freedesktop.Secret.Collection.Label", .string(label))])
      let arguments = [properties, try session.encode(Data("pw".utf8))]
      let reply = try connection.call(method, of: owner, at: KeyringService.path, arguments)
      guard let path = reply[0]?.itemPath else { throw TestFailure("no collection was made") }
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
