import CofferCore
import CofferLocks
import CofferPreferences
import CofferSQLite
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Foundation's own `UserDefaults` in another process, which takes no locks and writes in place what it has read.
///
/// What we write while it does so can be lost by its side, and what it writes while we do by ours. What is promised is
/// that everybody always finds whole values which somebody has written, and that all is well when it has ended.
@Suite(.blocking, .serialized) struct PreferenceForeignTests {
  /// Large enough that the other program needs a moment for its writing.
  private func filled(_ configure: (inout SlotConfiguration) -> Void = { _ in }) async throws -> (
    ConfigHome, SlotEngine
  ) {
    let home = try ConfigHome()
    let engine = try await home.open(configure)
    var batch = WriteBatch()
    for number in 0..<300 {
      batch.put(try StoreKey("large/\(number)"), Data(repeating: UInt8(number % 256), count: 1_000))
    }
    batch.put(try StoreKey("ours"), Data("0".utf8))
    try await engine.commit(batch, from: StoreOrigin())
    return (home, engine)
  }

  @Test func readersAndWritersLiveBesideALoopOfUserDefaults() async throws {
    let damages = Locked(0)
    let (home, engine) = try await filled { $0.onDamage = { _ in damages.withLock { $0 += 1 } } }
    let second = try await home.open()
    let other = try home.run("defaults-loop", "200")
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
    // What was refused was so because the file never stood still, and nothing else.
    #expect(refusals.allSatisfy { [.busy, .unfinished].contains($0.code) }, "\(refusals)")
    #expect(refusals.count < 60)
    let torn = try home.names(in: "quarantine")
    print("beside UserDefaults: \(refusals.count) of 60 commits refused, \(torn.count) torn files")
    try checkTorn(home, torn)
    #expect(damages.withLock { $0 } <= torn.count)
    try await checkPeace(home, [engine, second])
  }

  /// Killed while it writes, it leaves half a file for good.
  @Test func everyKilledUserDefaultsLeavesUsWithWholeValues() async throws {
    let damages = Locked(0)
    let (home, engine) = try await filled { $0.onDamage = { _ in damages.withLock { $0 += 1 } } }
    var random = SeededGenerator(seed: 20_261_124)
    var written: Set<String> = ["0"]
    for round in 1...15 {
      let other = try home.run("defaults-loop", "1000000")
      for _ in 0..<Int.random(in: 1...6, using: &random) { _ = try other.line() }
      usleep(UInt32.random(in: 0...3_000, using: &random))
      other.kill()
      other.wait()
      try await expectWhole(engine, written)
      written.insert("\(round)")
      try await engine.put("ours", "\(round)")
      #expect(try await engine.text("ours") == "\(round)")
      #expect(try home.texts(except: "foreign")["ours"] == "\(round)")
    }
    let torn = try home.names(in: "quarantine")
    print("killed 15 programs with UserDefaults: \(torn.count) torn files")
    try checkTorn(home, torn)
    #expect(damages.withLock { $0 } == torn.count)
    try await checkPeace(home, [engine])
  }

  // MARK: Looking

  /// Every value is one that was written, whole.
  private func expectWhole(_ engine: SlotEngine, _ written: Set<String>) async throws {
    do {
      let ours = try #require(try await engine.text("ours"))
      #expect(written.contains(ours))
      for number in [0, 150, 299] {
        let value = try await engine.entry(StoreKey("large/\(number)"))?.value
        #expect(value == Data(repeating: UInt8(number % 256), count: 1_000))
      }
      if let foreign = try await engine.text("foreign") { #expect(Int(foreign) != nil) }
    } catch let error as StorageError {
      // The one thing that a reader may hear of somebody who never stops.
      #expect(error.code == .busy, "\(error)")
    }
  }

  /// What was kept as damaged made no sense indeed.
  private func checkTorn(_ home: ConfigHome, _ names: [String]) throws {
    for name in names {
      let data = try Data(contentsOf: URL(fileURLWithPath: home.control + "/quarantine/" + name))
      #expect((try? PropertyListFormat().decode(data)) == nil, "\(name): \(data.prefix(80))")
    }
  }

  /// Now that nobody else is there, what each side writes is there for both.
  private func checkPeace(_ home: ConfigHome, _ engines: [SlotEngine]) async throws {
    try await engines[0].put("ours", "last")
    #expect(try home.run("defaults-set", "theirs", "last").lines() == ["done"])
    for engine in engines {
      #expect(try await engine.text("ours") == "last")
      #expect(try await engine.text("theirs") == "last")
      #expect(try await values(engine).count >= 303)
    }
    let list = try home.propertyList()
    #expect(list["ours"] as? Data == Data("last".utf8) && list["theirs"] as? String == "last")
    for engine in engines { try await engine.close() }
    #expect(try home.names(in: "staged") == [])
  }
}
