import CofferLocks

#if SecretService && os(Linux)
  import CofferCore
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferKeychain

  /// A keyring that goes and comes back while a store is open over it.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, whyNoKeyring), .timeLimit(.minutes(15)))
  struct KeyringAvailabilityTests {
    /// Every use throws `unavailable`; none says that a secret is absent.
    private func expectAway(_ engine: SlotEngine, _ key: String = "key") async throws {
      try await expectError(.unavailable) { _ = try await engine.entry(StoreKey(key)) }
      try await expectError(.unavailable) { _ = try await engine.entry(StoreKey("never was")) }
      try await expectError(.unavailable) { _ = try await values(engine) }
      try await expectError(.unavailable) { try await put(key, "lost", into: engine) }
      try await expectError(.unavailable) {
        try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      }
      // A default, written where there is no value.
      try await expectError(.unavailable) {
        try await engine.commit(
          WriteBatch([.require(StoreKey("never was"), nil), .put(StoreKey("never was"), Data("default".utf8))]),
          from: StoreOrigin())
      }
    }

    private func follow(_ engine: SlotEngine) -> Events<StoreAvailability> {
      let events = Events<StoreAvailability>()
      let stream = engine.availability()
      Task { for await availability in stream { events.add(availability) } }
      return events
    }

    private func wait(_ events: Events<StoreAvailability>, available: Bool) async throws {
      try await eventually("available: \(available)") {
        events.all.last.map { ($0 == .available) == available } ?? false
      }
    }

    @Test("Locked and unlocked while it is open")
    func lockCycle() async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      let other = try await place.open("com.example.other")
      try await put("key", "kept", into: engine)
      let (events, heard) = (follow(engine), HeardCommits(engine))
      try await wait(events, available: true)
      for round in 0..<2 {
        try place.keyring.lock()
        try await wait(events, available: false)
        try await expectAway(engine)
        try place.keyring.unlock("pw")
        try await wait(events, available: true)
        #expect(try await text("key", in: engine) == (round == 0 ? "kept" : "again 0"))
        #expect(try await text("never was", in: engine) == nil)
        try await put("key", "again \(round)", into: engine)
      }
      #expect(heard.foreign == [])
      #expect(try place.items().count == 1)
      try await engine.close()
      try await other.close()
    }

    @Test("What others do while this store cannot look is heard afterwards")
    func missed() async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      try await put("key", "old", into: engine)
      let (events, heard) = (follow(engine), HeardCommits(engine))
      place.keyring.stopBus()
      place.keyring.stopDaemon()
      try await wait(events, available: false)
      try await expectAway(engine)
      try place.keyring.startBus()
      try place.keyring.startDaemon(password: "pw")
      let path = try #require(try place.items().first?.path)
      try place.stranger.delete(path)
      try await wait(events, available: true)
      try await heard.waitForForeign("key")
      #expect(try await text("key", in: engine) == nil)
      try await put("key", "new", into: engine)
      try await engine.close()
    }

    @Test("Opened while it is locked, without a keyring, without a bus, and used once it is there")
    func openedAway() async throws {
      for start in ["locked", "no keyring", "no bus", "no collection"] {
        let place = try KeyringPlace(password: "pw")
        _ = try place.stranger.create(
          label: "x", KeyringPlace.attributes("key"), secret: Data("theirs".utf8), replace: false)
        switch start {
        case "locked": try place.keyring.lock()
        case "no collection": try place.keyring.startDaemon(password: "")
        default: place.keyring.stopDaemon()
        }
        if start == "no bus" { place.keyring.stopBus() }
        let engine = try await place.open()
        let events = follow(engine)
        try await expectAway(engine)
        try await wait(events, available: false)
        if start == "no bus" { try place.keyring.startBus() }
        if start == "locked" { try place.keyring.unlock("pw") } else { try place.keyring.startDaemon(password: "pw") }
        try await wait(events, available: true)
        #expect(try await values(engine) == ["key": "theirs"], "\(start)")
        try await put("key", "ours", into: engine)
        #expect(try await text("key", in: engine) == "ours", "\(start)")
        try await engine.close()
      }
    }

    @Test("Opened while it hangs, and used and heard once it answers")
    func openedHung() async throws {
      let place = try KeyringPlace(password: "pw")
      defer { place.keyring.resume() }
      _ = try place.stranger.create(
        label: "x", KeyringPlace.attributes("key"), secret: Data("theirs".utf8), replace: false)
      place.keyring.pause()
      let engine = try await place.open { $0.timeout = .seconds(1) }
      let (events, heard) = (follow(engine), HeardCommits(engine))
      try await expectError(.unavailable, "does not answer") { _ = try await engine.entry(StoreKey("key")) }
      try await wait(events, available: false)
      place.keyring.resume()
      try await wait(events, available: true)
      try await eventually("reading") { try await values(engine) == ["key": "theirs"] }
      heard.forget()
      _ = try place.stranger.create(
        label: "x", KeyringPlace.attributes("new"), secret: Data("theirs".utf8), replace: false)
      try await heard.waitForForeign("new")
      try await engine.close()
    }

    @Test("A hung keyring costs one deadline and not one for each key")
    func hung() async throws {
      let place = try KeyringPlace()
      let armed = Locked(false)
      let engine = try await place.open {
        $0.timeout = .seconds(1)
        $0.store.atStep = { step in
          // It hangs when the batch is committed and none of its values is in its place.
          if step == .committed, armed.withLock({ $0 }) { place.keyring.pause() }
        }
      }
      try await put("key", "kept", into: engine)
      place.keyring.pause()
      let puts = try (0..<8).map { WriteBatch.Operation.put(try StoreKey("key\($0)"), Data("x".utf8)) }
      let clock = ContinuousClock()
      var spent = try await clock.measure {
        try await expectError(.unavailable) { try await engine.commit(WriteBatch(puts), from: StoreOrigin()) }
        try await expectError(.unavailable) { _ = try await engine.entry(StoreKey("key")) }
      }
      #expect(spent < .seconds(10), "\(spent)")
      place.keyring.resume()
      try await eventually("working") { try await text("key", in: engine) == "kept" }
      armed.withLock { $0 = true }
      spent = try await clock.measure {
        try await expectError(.unfinished) { try await engine.commit(WriteBatch(puts), from: StoreOrigin()) }
      }
      #expect(spent < .seconds(10), "\(spent)")
      armed.withLock { $0 = false }
      place.keyring.resume()
      try await eventually("working") { try await values(engine).count == 9 }
      try await put("later", "x", into: engine)
      #expect(try place.items().count { $0.text(of: "coffer-slot") == nil } == 10)
      try await engine.close()
      try await place.open().close()
      #expect(try place.items().count == 10)
    }
  }
#endif
