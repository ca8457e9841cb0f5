import CofferLocks

#if SecretService && os(Linux)
  import CofferCore
  import CofferSQLite
  import CofferSlots
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @testable import CofferKeychain

  /// Writers that are killed, keyrings that are killed, and keyring files that are cut off.
  @Suite(.blocking, .serialized, .enabled(if: canTestKeyring, whyNoKeyring), .timeLimit(.minutes(15)))
  struct KeyringFaultTests {
    private static let committed = ["committed", "placed", "synced", "finished"]

    private func fill(_ place: KeyringPlace, _ name: String) async throws {
      let engine = try await place.open(name)
      try await engine.commit(FileScenario.fill(), from: StoreOrigin())
      try await engine.close()
    }

    /// Runs a helper to its end or its kill; the last step that it has said.
    private func step(of helper: HelperProcess) throws -> (last: String, isWhole: Bool) {
      let lines = try helper.lines()
      helper.wait()
      #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
      return (String(lines.last { $0.hasPrefix("step") }?.dropFirst(5) ?? ""), lines.last == "closed")
    }

    /// The batch has happened as a whole or not at all, and the keyring holds the values and nothing else.
    private func check(_ place: KeyringPlace, _ name: String, mustBeNew: Bool, _ comment: Comment) async throws {
      let reports = Locked<[RecoveryReport]>([])
      let engine = try await place.open(name) {
        $0.store.onRecovery = { report in reports.withLock { $0.append(report) } }
      }
      let found = try await values(engine)
      let expected = mustBeNew ? FileScenario.after : FileScenario.before
      #expect(found == expected, comment)
      #expect(engine.latestRevision == StoreRevision(mustBeNew ? 2 : 1), comment)
      #expect(reports.withLock { $0.allSatisfy { $0.edited == 0 && !$0.wasRebuilt } }, comment)
      let items = try place.items(of: name)
      #expect(items.count == expected.count && items.allSatisfy { $0.text(of: "coffer-slot") == nil }, comment)
      try await engine.close()
    }

    @Test("A writer that is killed at any step leaves the batch whole")
    func stepKills() async throws {
      let place = try KeyringPlace()
      var kills = 0
      for step in 1...100 {
        let name = "step\(step)"
        try await fill(place, name)
        let (last, isWhole) = try self.step(of: place.run("keychain-commit", name, "\(step)"))
        try await check(place, name, mustBeNew: Self.committed.contains(last), "killed at \(step): \(last)")
        if isWhole { break }
        kills += 1
      }
      #expect(kills >= 13 && kills < 100, "\(kills)")
    }

    @Test("A recovery that is killed at any step is finished by the next")
    func recoveryKills() async throws {
      let place = try KeyringPlace()
      var recoveries = 0
      for recoveryStep in 1...100 {
        let name = "recovery\(recoveryStep)"
        try await fill(place, name)
        // The sixth step is the commit: nothing is in its place then.
        let (last, _) = try step(of: place.run("keychain-commit", name, "6"))
        #expect(last == "committed")
        let (_, isWhole) = try step(of: place.run("keychain-open", name, "\(recoveryStep)"))
        try await check(place, name, mustBeNew: true, "recovery killed at \(recoveryStep)")
        if isWhole { break }
        recoveries += 1
      }
      #expect(recoveries >= 8 && recoveries < 100, "\(recoveries)")
    }

    @Test("Nothing acknowledged is lost when the keyring is killed in mid-write")
    func daemonKills() async throws { try await killDaemon(rounds: 5, seed: 20_261_121) }

    /// The long proof: `./run prove`.
    @Test(.enabled(if: isProving, "long: ./run prove"))
    func proveThatNothingAcknowledgedIsLostWithTheKeyring() async throws {
      try await killDaemon(rounds: 60, seed: UInt64.random(in: 0...UInt64.max))
    }

    private func killDaemon(rounds: Int, seed: UInt64) async throws {
      var random = SeededGenerator(seed: seed)
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      var failures = 0
      for round in 0..<rounds {
        let pause = UInt32.random(in: 5_000...150_000, using: &random)
        let killer = Task.detached {
          usleep(pause)
          place.keyring.stopDaemon()
        }
        var acknowledged: [String] = []
        for number in 0..<1_000 {
          do {
            try await put("key \(round) \(number)", "value \(round) \(number)", into: engine)
            acknowledged.append("\(round) \(number)")
          } catch let error as StorageError {
            #expect([.unavailable, .unfinished].contains(error.code), "\(error)")
            failures += 1
            break
          }
        }
        await killer.value
        try place.keyring.startDaemon(password: "pw")
        try await eventually("the keyring's return") { try await !values(engine).isEmpty || acknowledged.isEmpty }
        let present = try await values(engine)
        for name in acknowledged { #expect(present["key \(name)"] == "value \(name)", "seed \(seed)") }
      }
      #expect(failures == rounds)
      try await engine.close()
      try await place.open().close()
      #expect(try place.items().allSatisfy { $0.text(of: "coffer-slot") == nil })
    }

    @Test("A keyring file that was cut off is an error and no empty store", arguments: [0, 50])
    func truncated(_ percent: Int) async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      try await put("key", "kept", into: engine)
      let file = place.keyring.dataDirectory.appendingPathComponent("keyrings/login.keyring")
      place.keyring.stopDaemon()
      let whole = try Data(contentsOf: file)
      try whole.prefix(whole.count * percent / 100).write(to: file)
      try place.keyring.startDaemon(password: "pw")
      let heard = HeardCommits(engine)
      try await expectError(.damaged, "login_1.keyring") { _ = try await engine.entry(StoreKey("key")) }
      try await expectError(.damaged) { try await put("key", "over", into: engine) }
      try await expectError(.damaged) { try await put("new", "over", into: engine) }
      try await expectError(.damaged) {
        try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: StoreOrigin())
      }
      try await engine.close()
      try await expectError(.damaged, "login.keyring") { _ = try await place.open() }
      #expect(heard.all.isEmpty)
      // A backup in its place: nothing is lost.
      place.keyring.stopDaemon()
      try whole.write(to: file)
      try FileManager.default.removeItem(at: file.deletingLastPathComponent().appendingPathComponent("login_1.keyring"))
      try place.keyring.startDaemon(password: "pw")
      let again = try await place.open()
      #expect(try await values(again) == ["key": "kept"])
      try await again.close()
    }

    @Test("No file and no error holds anything of a secret")
    func nothingLeaks() async throws {
      let place = try KeyringPlace(password: "pw")
      let engine = try await place.open()
      let secret = "hunter2-hunter2-hunter2"
      for round in 0..<3 { try await put("key\(round)", secret, into: engine) }
      try await engine.withSnapshot { snapshot in
        try await put("key1", secret + "new", into: engine)
        #expect(try await snapshot.entries([StoreKey("key1")])[0]?.value == Data(secret.utf8))
      }
      let line = try #require(try await engine.journal?.entry(StoreKey("key1"))?.value)
      let record = try #require(line.withUnsafeBytes { SlotRecord($0) })
      #expect(record.checksum == 0 && record.size == 0)
      try place.keyring.lock()
      do {
        try await put("key2", secret, into: engine)
      } catch { #expect(!"\(error) \(String(reflecting: error))".contains("hunter2")) }
      try place.keyring.unlock("pw")
      try await engine.close()
      for item in try place.items() { #expect(!"\(item)".contains("hunter2")) }
      let root = place.keyring.root
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
      let place = try KeyringPlace()
      // A keyring takes long for each commit, and six handles wait in turn.
      func open() async throws -> SlotEngine { try await place.open { $0.store.busyTimeout = 60_000 } }
      let (one, two) = (try await open(), try await open())
      let heard = HeardCommits(one)
      let counters = try (0..<2).map { _ in try place.run("keychain-increment", service, "25") }
      let writers = try (0..<2).map { try place.run("keychain-write", service, "full", "w\($0)", "12") }
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
      #expect(found.count == 2 + 2 * 2 * 12)
      #expect(heard.foreign == [])
      #expect(try place.items().count == found.count)
      try await one.close()
      try await two.close()
    }
  }
#endif
