import CofferCore
import CofferLocks
import CofferPreferences
import CofferSQLite
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A file that makes no sense, as a program leaves it that is killed while it writes.
@Suite(.blocking, .serialized) struct PreferenceDamageTests {
  enum Damage: String, CaseIterable, Sendable {
    case garbage, empty, half, halfBinary, wrongRoot, blanks

    func bytes(of whole: Data) throws -> Data {
      switch self {
      case .garbage: Data((0..<2_000).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) })
      case .empty: Data()
      case .half: whole.prefix(whole.count / 2)
      case .halfBinary:
        try PropertyListSerialization.data(fromPropertyList: ["a": "1", "b": "2"], format: .binary, options: 0)
          .dropLast(8)
      case .wrongRoot: try PropertyListSerialization.data(fromPropertyList: ["a", "b"], format: .xml, options: 0)
      case .blanks: Data(repeating: 0x20, count: 4_096)
      }
    }
  }

  private let stored = ["theme": "dark", "size": "12"]

  /// A suite with two values in it, its engine and what that reports as damaged.
  private func filled() async throws -> (ConfigHome, SlotEngine, Locked<[DamageReport]>) {
    let home = try ConfigHome()
    let (engine, reports) = try await open(home)
    for (key, value) in stored { try await engine.put(key, value) }
    return (home, engine, reports)
  }

  private func open(_ home: ConfigHome) async throws -> (SlotEngine, Locked<[DamageReport]>) {
    let reports = Locked<[DamageReport]>([])
    return (try await home.open { $0.onDamage = { report in reports.withLock { $0.append(report) } } }, reports)
  }

  /// Damages the file.
  /// - Returns: Its bytes now.
  private func apply(_ damage: Damage, to home: ConfigHome) throws -> Data {
    let bytes = try damage.bytes(of: Data(contentsOf: URL(fileURLWithPath: home.file)))
    try overwrite(home.file, bytes)
    return bytes
  }

  private func expectKept(_ home: ConfigHome, _ bytes: Data) throws {
    let names = try home.names(in: "quarantine")
    #expect(names.count == 1 && names[0].hasPrefix("damaged-"), "\(names)")
    let kept = try names.map { try Data(contentsOf: URL(fileURLWithPath: home.control + "/quarantine/" + $0)) }
    #expect(kept == [Data(bytes)])
  }

  private func availability(_ engine: SlotEngine) async -> StoreAvailability? {
    var states = engine.availability().makeAsyncIterator()
    return await states.next()
  }

  // MARK: With a copy

  @Test(arguments: Damage.allCases) func underAnOpenSuiteTheCopyServes(_ damage: Damage) async throws {
    let (home, engine, reports) = try await filled()
    let heard = Heard(engine)
    let bytes = try apply(damage, to: home)
    for _ in 0..<3 {
      for (key, value) in stored { #expect(try await engine.text(key) == value) }
      #expect(try await engine.text("absent") == nil)
      #expect(try await values(engine) == stored)
    }
    #expect(reports.withLock { $0.map(\.size) } == [bytes.count])
    #expect(reports.withLock { $0.first?.key == nil && $0.first?.backend.hasPrefix("prefs:") == true })
    try expectKept(home, bytes)
    #expect(await availability(engine) == .available)
    // What is damaged stays until somebody writes.
    #expect(try Data(contentsOf: URL(fileURLWithPath: home.file)) == Data(bytes))
    try await engine.put("size", "13")
    #expect(try home.texts() == ["theme": "dark", "size": "13"])
    #expect(try home.run("defaults-set", "theirs", "x").lines() == ["done"])
    try await heard.wait(for: "theirs")
    #expect(heard.foreign == [["theirs"]], "the damage was heard as an edit")
    #expect(reports.withLock { $0.count } == 1)
    try expectKept(home, bytes)
    try await engine.close()
  }

  @Test(arguments: Damage.allCases) func beforeOpeningTheCopyServes(_ damage: Damage) async throws {
    let (home, first, _) = try await filled()
    try await first.close()
    let bytes = try apply(damage, to: home)
    let (engine, reports) = try await open(home)
    let (second, others) = try await open(home)
    for handle in [engine, second] {
      #expect(try await values(handle) == stored)
      #expect(try await handle.recoveryReport().edited == 0)
      #expect(await availability(handle) == .available)
    }
    for log in [reports, others] { #expect(log.withLock { $0.map(\.size) } == [bytes.count]) }
    try expectKept(home, bytes)
    try await engine.put("size", "13")
    #expect(try await second.text("size") == "13")
    #expect(try home.texts() == ["theme": "dark", "size": "13"])
    try await second.close()
    try await engine.close()
    let (again, none) = try await open(home)
    #expect(try await values(again) == ["theme": "dark", "size": "13"])
    #expect(none.withLock { $0.isEmpty })
    try expectKept(home, bytes)
    try await again.close()
  }

  /// Who was in the middle of writing ends it: that was no damage.
  @Test func halfAFileThatBecomesWholeIsNoDamage() async throws {
    for _ in 0..<50 {
      let (home, engine, reports) = try await filled()
      let whole = try Data(contentsOf: URL(fileURLWithPath: home.file))
      let writer = SlowWriter(home.file, whole)
      let start = ContinuousClock.now
      #expect(try await engine.text("theme") == "dark")
      let waited = ContinuousClock.now - start
      let pause = try await writer.end()
      // A machine that is busy with other things may have left half a file for longer than readers wait; or nobody has
      // looked at it.
      let counts = pause < .milliseconds(150) && waited > .milliseconds(10)
      if counts {
        #expect(reports.withLock { $0.isEmpty })
        #expect(try home.names(in: "quarantine") == [])
      }
      try await engine.close()
      if counts { return }
    }
    Issue.record("this machine never wrote the other half in time")
  }

  /// Each damaged state is kept and told of.
  @Test func aSecondDamageIsAnother() async throws {
    let (home, engine, reports) = try await filled()
    for (index, damage) in [Damage.garbage, .half].enumerated() {
      let bytes = try apply(damage, to: home)
      #expect(try await engine.text("theme") == "dark")
      #expect(reports.withLock { $0.map(\.size) }.last == bytes.count)
      #expect(try home.names(in: "quarantine").count == index + 1)
      try await engine.put("size", "\(index)")
    }
    #expect(reports.withLock { $0.count } == 2)
    try await engine.close()
  }
}

/// Writes half a file at once and the whole of it after a moment, on a thread of its own: readers block those of tasks.
private final class SlowWriter: Sendable {
  private let pause = Locked<Result<Duration, any Error>?>(nil)

  init(_ path: String, _ whole: Data) {
    let isTorn = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [pause] in
      let start = ContinuousClock.now
      let result = Result {
        try overwrite(path, Data(whole.prefix(whole.count / 2)))
        isTorn.signal()
        usleep(30_000)
        try overwrite(path, whole)
        return ContinuousClock.now - start
      }
      isTorn.signal()
      pause.withLock { $0 = result }
    }
    isTorn.wait()
  }

  /// How long the file was half of one.
  func end() async throws -> Duration {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
      if let pause = pause.withLock({ $0 }) { return try pause.get() }
      try await Task.sleep(for: .milliseconds(5))
    }
    throw TestFailure("the file was not written")
  }
}
