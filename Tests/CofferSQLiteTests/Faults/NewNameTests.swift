import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests that the directories of a new database are synced before the first commit is acknowledged, since the database
/// is lost without them.
@Suite(.blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
struct NewNameTests {
  private let directory: TemporaryDirectory
  private var store: String { directory.path("a/b/c/store.db") }

  init() throws { directory = try TemporaryDirectory() }

  /// Commits once in a new process.
  /// - Returns: The log of created directories, syncs and output lines, including those of earlier processes.
  private func run(fault: String? = nil) throws -> [String] {
    let log = directory.path("log")
    let helper = try HelperProcess(
      ["write", store, "full", "p", "1"],
      environment: [("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_FAULT_LOG", log)]
        + (fault.map { [("COFFER_FAULT", $0)] } ?? []))
    _ = try helper.lines()
    helper.wait()
    guard FileManager.default.fileExists(atPath: log) else { return [] }
    return try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// Expects every directory between the test's directory and the database to be synced before the acknowledgement.
  private func expectSynced(_ log: [String], _ comment: Comment) throws {
    let end = try #require(log.firstIndex(of: "say ack 0"), comment)
    let base = try #require(realpath(directory.url.path, nil).map { String(cString: $0) })
    for (name, parent) in [("a", ""), ("a/b", "/a"), ("a/b/c", "/a/b")] {
      let made = try #require(log.firstIndex(of: "mkdir " + directory.path(name)), comment)
      #expect(log[made..<end].contains("sync " + base + parent), "\(comment): \(name) in \(log)")
    }
    #expect(log[..<end].contains("sync " + base + "/a/b/c"), "\(comment): \(log)")
  }

  @Test func theDirectoriesOfANewDatabaseSurvivePowerLoss() throws {
    try expectSynced(try run(), "undisturbed")
  }

  @Test("A process syncs the directories that a killed process created but did not sync", arguments: 1...8)
  func afterAKill(step: Int) throws {
    let before = try run(fault: "kill:sync:\(step)")
    #expect(!before.contains("say ack 0"), "the process was expected to be killed before")
    try expectSynced(try run(), "after a kill before sync \(step)")
  }
}
