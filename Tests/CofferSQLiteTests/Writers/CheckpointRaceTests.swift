import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of the checkpoint race: SQLite up to 3.51.2 loses commits if a checkpoint reads a fully copied log while a
/// commit restarts it. The preloaded library pauses each checkpoint before, inside and after that point.
@Suite(
  .blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
struct CheckpointRaceTests {
  @Test func noCheckpointBeginsWhileAnotherProcessCopiesTheLog() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let slow = try SteppedProcess("slow", path, directory)
    let quick = try SteppedProcess("quick", path, directory)
    // One process is about to copy a log that another could copy first.
    slow.helper.tell("large")
    #expect(try slow.lines(2) == ["large ok", "rest 1 before"])
    quick.helper.tell("large")
    #expect(try quick.helper.line() == "large ok")
    // Without the lock it would copy everything now, and its next commit would restart the log after the first process
    // has read the length of the old one.
    #expect(try quick.helper.line(within: 500) == nil, "two processes copy the log at once")
    slow.goOn(1)
    #expect(try slow.helper.line() == "rest 2 inside")
    quick.helper.tell("commit")
    #expect(try quick.helper.line() == "commit ok")
    for number in 2...9 { slow.goOn(number) }
    for number in 1...9 { quick.goOn(number) }
    for process in [slow, quick] {
      process.helper.tell("relaxed")
      while try process.helper.line() != "relaxed ok" {}
      process.helper.tell("end")
    }
    for process in [slow, quick] {
      _ = try process.helper.lines()
      process.helper.wait()
    }
    let engine = try await SQLiteEngine.open(at: path)
    for name in ["slow", "quick"] {
      #expect(try await engine.entry(KeyName("\(name)/0"))?.value.count == 5 << 20)
      #expect(try await engine.entry(KeyName("\(name)/1")) != nil)
    }
    #expect(engine.latestRevision == StoreRevision(5))
    try await engine.close()
  }
}

/// A writer process whose checkpoints pause until ``goOn(_:)`` is called.
private struct SteppedProcess {
  let helper: HelperProcess
  private let signs: String

  init(_ name: String, _ path: String, _ directory: TemporaryDirectory) throws {
    signs = directory.path(name)
    helper = try HelperProcess(
      ["follow", path, name], environment: [("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_REST_AT", signs)])
    #expect(try helper.line() == "ready")
  }

  func goOn(_ number: Int) { _ = FileManager.default.createFile(atPath: "\(signs).\(number)", contents: nil) }

  /// Reads this many lines, sorted, since two threads write them in any order.
  func lines(_ count: Int) throws -> [String] { try (0..<count).map { _ in try helper.line() ?? "" }.sorted() }
}
