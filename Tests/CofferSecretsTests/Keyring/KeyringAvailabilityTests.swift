import CofferCore

#if SecretService && os(Linux)
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// A keyring that becomes unavailable and available again while a store is open.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct KeyringAvailabilityTests {
    /// Checks that every operation throws `unavailable`, and none reports a secret as absent.
    private func expectAway(_ engine: SlotEngine, _ key: String = "key") async throws {
      try await expectError(.unavailable) { _ = try await engine.entry(KeyName(key)) }
      try await expectError(.unavailable) { _ = try await engine.entry(KeyName("never was")) }
      try await expectError(.unavailable) { _ = try await values(engine) }
      try await expectError(.unavailable) { try await put(key, "lost", into: engine) }
      try await expectError(.unavailable) {
        try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      }
      // A default value, which is written only if there is none.
      try await expectError(.unavailable) {
        try await engine.commit(
          WriteBatch([.require(KeyName("never was"), nil), .put(KeyName("never was"), Data("default".utf8))]),
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
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      let other = try await fixture.open("com.example.other")
      try await put("key", "kept", into: engine)
      let (events, heard) = (follow(engine), DeliveredCommits(engine))
      try await wait(events, available: true)
      for round in 0..<2 {
        try fixture.keyring.lock()
        try await wait(events, available: false)
        try await expectAway(engine)
        try fixture.keyring.unlock("pw")
        try await wait(events, available: true)
        #expect(try await text("key", in: engine) == (round == 0 ? "kept" : "again 0"))
        #expect(try await text("never was", in: engine) == nil)
        try await put("key", "again \(round)", into: engine)
      }
      #expect(heard.foreign == [])
      #expect(try fixture.items().count == 1)
      try await engine.close()
      try await other.close()
    }

    @Test("Changes by others while the keyring is unavailable are delivered afterwards")
    func missed() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      try await put("key", "old", into: engine)
      let (events, heard) = (follow(engine), DeliveredCommits(engine))
      fixture.keyring.stopBus()
      fixture.keyring.stopDaemon()
      try await wait(events, available: false)
      try await expectAway(engine)
      try fixture.keyring.startBus()
      try fixture.keyring.startDaemon(password: "pw")
      let path = try #require(try fixture.items().first?.path)
      try fixture.stranger.delete(path)
      try await wait(events, available: true)
      try await heard.waitForForeign("key")
      #expect(try await text("key", in: engine) == nil)
      try await put("key", "new", into: engine)
      try await engine.close()
    }

    @Test("Opened while it is locked, without a keyring or without a bus, and used once it is available")
    func openedAway() async throws {
      for start in ["locked", "no keyring", "no bus", "no collection"] {
        let fixture = try KeyringFixture(password: "pw")
        _ = try fixture.stranger.create(
          label: "x", KeyringFixture.attributes("key"), secret: Data("theirs".utf8), replace: false)
        switch start {
        case "locked": try fixture.keyring.lock()
        case "no collection": try fixture.keyring.startDaemon(password: "")
        default: fixture.keyring.stopDaemon()
        }
        if start == "no bus" { fixture.keyring.stopBus() }
        let engine = try await fixture.open()
        let events = follow(engine)
        try await expectAway(engine)
        try await wait(events, available: false)
        if start == "no bus" { try fixture.keyring.startBus() }
        if start == "locked" {
          try fixture.keyring.unlock("pw")
        } else {
          try fixture.keyring.startDaemon(password: "pw")
        }
        try await wait(events, available: true)
        #expect(try await values(engine) == ["key": "theirs"], "\(start)")
        try await put("key", "ours", into: engine)
        #expect(try await text("key", in: engine) == "ours", "\(start)")
        try await engine.close()
      }
    }

    @Test("Opened while it hangs, and used and observed once it answers")
    func openedHung() async throws {
      let fixture = try KeyringFixture(password: "pw")
      defer { fixture.keyring.resume() }
      _ = try fixture.stranger.create(
        label: "x", KeyringFixture.attributes("key"), secret: Data("theirs".utf8), replace: false)
      fixture.keyring.pause()
      let engine = try await fixture.open { $0.timeout = .seconds(1) }
      let (events, heard) = (follow(engine), DeliveredCommits(engine))
      try await expectError(.unavailable, "does not answer") { _ = try await engine.entry(KeyName("key")) }
      try await wait(events, available: false)
      fixture.keyring.resume()
      try await wait(events, available: true)
      try await eventually("reading") { (try? await values(engine)) == ["key": "theirs"] }
      heard.forget()
      _ = try fixture.stranger.create(
        label: "x", KeyringFixture.attributes("new"), secret: Data("theirs".utf8), replace: false)
      try await heard.waitForForeign("new")
      try await engine.close()
    }

    @Test("A hung keyring costs one deadline and not one for each key")
    func hung() async throws {
      let fixture = try KeyringFixture()
      let armed = Locked(false)
      let engine = try await fixture.open {
        $0.timeout = .seconds(1)
        $0.store.atStep = { step in
          // It hangs when the batch is committed and none of its values is published yet.
          if step == .committed, armed.withLock({ $0 }) { fixture.keyring.pause() }
        }
      }
      try await put("key", "kept", into: engine)
      fixture.keyring.pause()
      let puts = try (0..<8).map { WriteBatch.Operation.put(try KeyName("key\($0)"), Data("x".utf8)) }
      let clock = ContinuousClock()
      var spent = try await clock.measure {
        try await expectError(.unavailable) { try await engine.commit(WriteBatch(puts), from: StoreOrigin()) }
        try await expectError(.unavailable) { _ = try await engine.entry(KeyName("key")) }
      }
      #expect(spent < .seconds(10), "\(spent)")
      fixture.keyring.resume()
      try await eventually("working") { (try? await text("key", in: engine)) == "kept" }
      armed.withLock { $0 = true }
      spent = try await clock.measure {
        try await expectError(.unfinished) { try await engine.commit(WriteBatch(puts), from: StoreOrigin()) }
      }
      #expect(spent < .seconds(10), "\(spent)")
      armed.withLock { $0 = false }
      fixture.keyring.resume()
      try await eventually("working") { (try? await values(engine).count) == 9 }
      try await put("later", "x", into: engine)
      #expect(try fixture.items().count { $0.text(of: "coffer-slot") == nil } == 10)
      try await engine.close()
      try await fixture.open().close()
      #expect(try fixture.items().count == 10)
    }
  }
#endif
