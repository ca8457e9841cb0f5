import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Foundation's `UserDefaults` in another process, which takes no locks and writes back in place what it has read.
///
/// Concurrent writes of either side can be lost to the other. What is guaranteed is that every reader always finds
/// complete values that one of them has written, and that both work normally afterwards.
@Suite(.blocking, .serialized) struct PreferenceForeignTests {
  /// Creates a suite large enough that the other program takes a moment to write it.
  private func filled(_ configure: (inout SlotEngine.Configuration) -> Void = { _ in }) async throws -> (
    PreferenceFixture, SlotEngine
  ) {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open(configure)
    var batch = WriteBatch()
    for number in 0..<300 {
      batch.put(try KeyName("large/\(number)"), Data(repeating: UInt8(number % 256), count: 1_000))
    }
    batch.put(KeyName("ours"), Data("0".utf8))
    try await engine.commit(batch, from: StoreOrigin())
    return (fixture, engine)
  }

  @Test func readersAndWritersLiveBesideALoopOfUserDefaults() async throws {
    let damages = Locked(0)
    // Of the file, not of a value of the other program that was recorded and then lost with it.
    let (fixture, engine) = try await filled {
      $0.onDamage = { report in damages.withLock { $0 += report.key == nil ? 1 : 0 } }
    }
    let second = try await fixture.open()
    let other = try fixture.run("defaults-loop", "200")
    #expect(try other.line() == "ack 0")
    var written: Set<String> = ["0"]
    var refusals: [StorageError] = []
    var acknowledged = 1
    for number in 1...60 {
      written.insert("\(number)")
      do { try await engine.put("ours", "\(number)") } catch let error as StorageError { refusals.append(error) }
      for handle in [engine, second] { try await expectWhole(handle, written) }
      while let line = try other.line(within: 0) {
        #expect(line == "ack \(acknowledged)")
        acknowledged += 1
      }
    }
    for line in try other.lines() {
      #expect(line == "ack \(acknowledged)")
      acknowledged += 1
    }
    #expect(other.wait() == 0 && acknowledged == 200)
    // Commits were refused only because the file kept changing.
    #expect(refusals.allSatisfy { [.busy, .unfinished].contains($0.code) }, "\(refusals)")
    #expect(refusals.count < 60)
    let torn = try fixture.names(in: "quarantine")
    print("beside UserDefaults: \(refusals.count) of 60 commits refused, \(torn.count) torn files")
    try checkTorn(fixture, torn)
    #expect(damages.withLock { $0 } <= torn.count)
    try await checkPeace(fixture, [engine, second])
  }

  /// A `UserDefaults` program that is killed while writing leaves an incomplete file.
  @Test func everyKilledUserDefaultsLeavesUsWithWholeValues() async throws {
    let damages = Locked(0)
    // Of the file, not of a value of the other program that was recorded and then lost with it.
    let (fixture, engine) = try await filled {
      $0.onDamage = { report in damages.withLock { $0 += report.key == nil ? 1 : 0 } }
    }
    var random = SeededGenerator(seed: 20_261_124)
    var written: Set<String> = ["0"]
    for round in 1...15 {
      let other = try fixture.run("defaults-loop", "1000000")
      for _ in 0..<Int.random(in: 1...6, using: &random) { _ = try other.line() }
      pause(upTo: .milliseconds(3), using: &random)
      other.kill()
      other.wait()
      try await expectWhole(engine, written)
      written.insert("\(round)")
      try await engine.put("ours", "\(round)")
      #expect(try await engine.text("ours") == "\(round)")
      #expect(try fixture.texts(except: "foreign")["ours"] == "\(round)")
    }
    let torn = try fixture.names(in: "quarantine")
    print("killed 15 programs with UserDefaults: \(torn.count) torn files")
    try checkTorn(fixture, torn)
    #expect(damages.withLock { $0 } == torn.count)
    try await checkPeace(fixture, [engine])
  }

  // MARK: Checks

  /// Checks that every value is complete and was written.
  private func expectWhole(_ engine: SlotEngine, _ written: Set<String>) async throws {
    do {
      let ours = try #require(try await engine.text("ours"))
      #expect(written.contains(ours))
      for number in [0, 150, 299] {
        let value = try await engine.entry(KeyName("large/\(number)"))?.value
        #expect(value == Data(repeating: UInt8(number % 256), count: 1_000))
      }
      if let foreign = try await engine.text("foreign") { #expect(Int(foreign) != nil) }
    } catch let error as StorageError {
      // While another program keeps writing; or its newest value was recorded, and it has torn the file since.
      let isLost = error.code == .damaged && error.key == KeyName("foreign") && error.message.contains("is lost")
      #expect(error.code == .busy || isLost, "\(error)")
    }
  }

  /// Checks that every quarantined file is really damaged.
  private func checkTorn(_ fixture: PreferenceFixture, _ names: [String]) throws {
    for name in names {
      let data = try Data(contentsOf: URL(fileURLWithPath: fixture.control + "/quarantine/" + name))
      #expect((try? PropertyListFormat().decode(data)) == nil, "\(name): \(data.prefix(80))")
    }
  }

  /// Checks that without concurrent writers each side reads what the other has written.
  private func checkPeace(_ fixture: PreferenceFixture, _ engines: [SlotEngine]) async throws {
    try await engines[0].put("ours", "last")
    // A lost value can be read again once it is written again.
    for key in ["foreign", "theirs"] { #expect(try fixture.run("defaults-set", key, "last").lines() == ["done"]) }
    for engine in engines {
      #expect(try await engine.text("ours") == "last")
      #expect(try await engine.text("theirs") == "last")
      #expect(try await values(engine).count >= 303)
    }
    let list = try fixture.propertyList()
    #expect(list["ours"] as? Data == Data("last".utf8) && list["theirs"] as? String == "last")
    for engine in engines { try await engine.close() }
    #expect(try fixture.names(in: "staged") == [])
  }
}
