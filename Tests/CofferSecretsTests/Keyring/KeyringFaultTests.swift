import CofferCore

#if SecretService && os(Linux)
  import CofferSQLite
  import CofferFiles
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferSecrets

  /// Writers and keyrings that are killed, and keyring files that are truncated.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason), .timeLimit(.minutes(15)))
  struct KeyringFaultTests {
    private static let committed = ["committed", "placed", "synced", "finished"]

    private func fill(_ fixture: KeyringFixture, _ name: String) async throws {
      let engine = try await fixture.open(name)
      try await engine.commit(FileScenario.fill(), from: StoreOrigin())
      try await engine.close()
    }

    /// Runs a helper until it ends or is killed, and returns the last step that it printed.
    private func step(of helper: HelperProcess) throws -> (last: String, isWhole: Bool) {
      let lines = try helper.lines()
      helper.wait()
      #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
      return (String(lines.last { $0.hasPrefix("step") }?.dropFirst(5) ?? ""), lines.last == "closed")
    }

    /// Checks that the batch is applied as a whole or not at all, and that the keyring contains only the values.
    private func check(_ fixture: KeyringFixture, _ name: String, mustBeNew: Bool, _ comment: Comment) async throws {
      let reports = Locked<[RecoveryReport]>([])
      let engine = try await fixture.open(name) {
        $0.store.onRecovery = { report in reports.withLock { $0.append(report) } }
      }
      let found = try await values(engine)
      let expected = mustBeNew ? FileScenario.after : FileScenario.before
      #expect(found == expected, comment)
      #expect(engine.latestRevision == StoreRevision(mustBeNew ? 2 : 1), comment)
      #expect(reports.withLock { $0.allSatisfy { $0.edited == 0 && !$0.wasRebuilt } }, comment)
      let items = try fixture.items(of: name)
      #expect(items.count == expected.count && items.allSatisfy { $0.text(of: "coffer-slot") == nil }, comment)
      try await engine.close()
    }

    // Requirement 1.61
    @Test("A batch is atomic if its writer is killed at any step")
    func stepKills() async throws {
      let fixture = try KeyringFixture()
      var kills = 0
      for step in 1...100 {
        let name = "step\(step)"
        try await fill(fixture, name)
        let (last, isWhole) = try self.step(of: fixture.run("keychain-commit", name, "\(step)"))
        try await check(fixture, name, mustBeNew: Self.committed.contains(last), "killed at \(step): \(last)")
        if isWhole { break }
        kills += 1
      }
      #expect(kills >= 13 && kills < 100, "\(kills)")
    }

    @Test("A recovery that is killed at any step is completed by the next one")
    func recoveryKills() async throws {
      let fixture = try KeyringFixture()
      var recoveries = 0
      for recoveryStep in 1...100 {
        let name = "recovery\(recoveryStep)"
        try await fill(fixture, name)
        // The sixth step is the commit, before any value is published.
        let (last, _) = try step(of: fixture.run("keychain-commit", name, "6"))
        #expect(last == "committed")
        let (_, isWhole) = try step(of: fixture.run("keychain-open", name, "\(recoveryStep)"))
        try await check(fixture, name, mustBeNew: true, "recovery killed at \(recoveryStep)")
        if isWhole { break }
        recoveries += 1
      }
      #expect(recoveries >= 8 && recoveries < 100, "\(recoveries)")
    }

    // Requirement 1.61
    @Test("Nothing acknowledged is lost when the keyring is killed in mid-write")
    func daemonKills() async throws { try await killDaemon(rounds: 5, seed: 20_261_121) }

    /// Runs longer, with `./run prove`.
    @Test(.enabled(if: isProving, "long: ./run prove"))
    func proveThatNothingAcknowledgedIsLostWithTheKeyring() async throws {
      try await killDaemon(rounds: 60, seed: UInt64.random(in: 0...UInt64.max))
    }

    private func killDaemon(rounds: Int, seed: UInt64) async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      var failures = 0
      for round in 0..<rounds {
        let killer = Task.detached {
          var random = SeededGenerator(seed: seed &+ UInt64(round))
          pause(upTo: .milliseconds(150), using: &random)
          fixture.keyring.stopDaemon()
        }
        var acknowledged: [String] = []
        // Writes until the kill, however late a busy machine makes it.
        var number = 0
        let deadline = ContinuousClock.now + .seconds(120)
        while failures == round, ContinuousClock.now < deadline {
          number += 1
          do {
            try await put("key \(round) \(number)", "value \(round) \(number)", into: engine)
            acknowledged.append("\(round) \(number)")
          } catch let error as StorageError {
            #expect([.unavailable, .unfinished].contains(error.code), "\(error)")
            failures += 1
          }
        }
        await killer.value
        try fixture.keyring.startDaemon(password: "pw")
        try await eventually("the keyring's return") {
          guard let present = try? await values(engine) else { return false }
          return !present.isEmpty || acknowledged.isEmpty
        }
        let present = try await values(engine)
        for name in acknowledged { #expect(present["key \(name)"] == "value \(name)", "seed \(seed)") }
      }
      #expect(failures == rounds)
      try await engine.close()
      let again = try await fixture.open()
      _ = try await values(again)
      try await again.close()
      #expect(try fixture.items().allSatisfy { $0.text(of: "coffer-slot") == nil })
    }

    @Test("A truncated keyring file is an error, not an empty store", arguments: [0, 50])
    func truncated(_ percent: Int) async throws {
      let fixture = try KeyringFixture(password: "pw")
      let writer = try await fixture.open()
      try await put("key", "kept", into: writer)
      try await writer.close()
      // No commit is left to be published, so that opening does not compare all items.
      let engine = try await fixture.open()
      let file = fixture.keyring.dataDirectory.appendingPathComponent("keyrings/login.keyring")
      fixture.keyring.stopDaemon()
      let whole = try Data(contentsOf: file)
      try whole.prefix(whole.count * percent / 100).write(to: file)
      try fixture.keyring.startDaemon(password: "pw")
      let heard = DeliveredCommits(engine)
      try await expectError(.damaged, "login_1.keyring") { _ = try await engine.entry(KeyName("key")) }
      try await expectError(.damaged) { try await put("key", "over", into: engine) }
      try await expectError(.damaged) { try await put("new", "over", into: engine) }
      try await expectError(.damaged) {
        try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      }
      try await engine.close()
      let reader = try await fixture.open()
      try await expectError(.damaged, "login.keyring") { _ = try await reader.entry(KeyName("key")) }
      try await expectError(.damaged, "login.keyring") { _ = try await values(reader) }
      try await reader.close()
      #expect(heard.all.isEmpty)
      // After a backup is restored, nothing is lost.
      fixture.keyring.stopDaemon()
      try whole.write(to: file)
      try FileManager.default.removeItem(at: file.deletingLastPathComponent().appendingPathComponent("login_1.keyring"))
      try fixture.keyring.startDaemon(password: "pw")
      let again = try await fixture.open()
      #expect(try await values(again) == ["key": "kept"])
      try await again.close()
    }

    // Requirement 1.64
    @Test("No file and no error contains any part of a secret")
    func nothingLeaks() async throws {
      let fixture = try KeyringFixture(password: "pw")
      let engine = try await fixture.open()
      let secret = "hunter2-hunter2-hunter2"
      for round in 0..<3 { try await put("key\(round)", secret, into: engine) }
      try await engine.withSnapshot { snapshot in
        try await put("key1", secret + "new", into: engine)
        #expect(try await snapshot.entries([KeyName("key1")])[0]?.value == Data(secret.utf8))
      }
      let line = try #require(try await engine.journal?.entry(KeyName("key1"))?.value)
      let record = try #require(line.withUnsafeBytes { SlotRecord($0) })
      #expect(record.checksum == 0 && record.size == 0)
      try fixture.keyring.lock()
      do {
        try await put("key2", secret, into: engine)
      } catch { #expect(!"\(error) \(String(reflecting: error))".contains("hunter2")) }
      try fixture.keyring.unlock("pw")
      try await engine.close()
      for item in try fixture.items() { #expect(!"\(item)".contains("hunter2")) }
      let root = fixture.keyring.root
      let names = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      #expect(names.count > 5)
      let traces = [Data("hunter2".utf8), Data("hunter2".utf8).base64EncodedData().prefix(8)]
      for name in names {
        guard let bytes = FileManager.default.contents(atPath: root.appendingPathComponent(name).path) else { continue }
        for trace in traces { #expect(bytes.range(of: trace) == nil, "\(name)") }
      }
    }

    @Test("Two processes and two handles lose no update")
    func together() async throws {
      let fixture = try KeyringFixture()
      // A commit to a keyring is slow, and six handles wait for each other.
      func open() async throws -> SlotEngine { try await fixture.open { $0.store.busyTimeout = 60_000 } }
      let (one, two) = (try await open(), try await open())
      let heard = DeliveredCommits(one)
      let counters = try (0..<2).map { _ in try fixture.run("keychain-increment", service, "25") }
      let writers = try (0..<2).map { try fixture.run("keychain-write", service, "full", "w\($0)", "12") }
      for number in 0..<10 {
        try await put("both", "\(number)", into: number % 2 == 0 ? one : two)
        #expect(try await text("both", in: number % 2 == 0 ? two : one) == "\(number)")
      }
      for helper in counters + writers {
        let lines = try helper.lines()
        #expect(helper.wait() == 0, "\(lines)")
      }
      let found = try await values(one)
      #expect(found["counter"] == "50")
      #expect(found.count == 50)
      #expect(heard.foreign == [])
      #expect(try fixture.items().count == found.count)
      try await one.close()
      try await two.close()
    }
  }
#endif
