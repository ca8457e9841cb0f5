import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Every system call of a commit: it fails, or the process is killed just before it.
@Suite(
  .blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"),
  .disabled(if: isThreadSanitized, "hundreds of processes, each slow to start under the thread sanitizer"))
struct SystemCallTests {
  private static let calls = ["write", "pwrite", "sync", "renameat", "unlinkat", "openat"]

  @Test(arguments: calls, ["single", "batch"])
  func aKillInFrontOfEachCall(call: String, batch: String) async throws {
    let count = try await sweep(batch) { step in
      let directory = try await StoreDirectory.filled()
      let lines = try directory.run("files-armed", batch, "kill:\(call):\(step)", fault: true).lines()
      let isEnd = lines.contains { $0.hasPrefix("read") }
      var aftermath = Aftermath(directory: directory, comment: "killed in front of \(call) \(step) of a \(batch)")
      if batch == "single" { aftermath.after = FileScenario.singleAfter }
      aftermath.isLaterStored = lines.contains("later ok")
      _ = try await aftermath.check(mustBeNew: lines.contains("commit ok"))
      return !isEnd
    }
    #expect(count >= least(call, batch))
  }

  @Test(arguments: calls, ["single", "batch"])
  func aFailureOfEachCall(call: String, batch: String) async throws {
    let count = try await sweep(batch) { step in
      try await fail("fail:\(call):\(step)", batch)
    }
    #expect(count >= least(call, batch))
  }

  /// A full disk at each write.
  @Test(arguments: ["write", "pwrite", "openat", "renameat"], ["single", "batch"])
  func aFullDiskAtEachCall(call: String, batch: String) async throws {
    _ = try await sweep(batch) { step in
      try await fail("full:\(call):\(step)", batch, codes: ["diskFull", "inputOutput"])
    }
  }

  /// A value that a snapshot may still read is retained with a hard link, which can fail.
  @Test func aFailureToKeepAValueForASnapshot() async throws {
    let count = try await sweep("batch") { step in
      try await fail("fail:linkat:\(step)", "batch", "snapshot")
    }
    #expect(count > 0)
  }

  /// A failed sync of the directory of the values: its renames may not survive power loss.
  @Test func aFailedSyncOfTheDirectoryClosesTheStore() async throws {
    let directory = try await StoreDirectory.filled()
    let lines = try directory.run("files-armed", "single", "fail:sync@:1", fault: true).lines()
    #expect(lines.count == 4 && lines[0].hasPrefix("commit outcomeUnknown"), "\(lines)")
    #expect(lines.dropFirst(2).allSatisfy { $0.contains(" closed ") }, "\(lines)")
    var aftermath = Aftermath(directory: directory, comment: "a failed sync of the directory")
    aftermath.after = FileScenario.singleAfter
    _ = try await aftermath.check()
  }

  /// A failed sync of the staging directory: a batch is committed only if all its staged files are durable.
  @Test func aFailedSyncOfWhatWaitsFailsTheBatch() async throws {
    #expect(try await fail("fail:sync@/.coffer/staged:1", "batch"), "there was no such sync")
    let directory = try await StoreDirectory.filled()
    let lines = try directory.run("files-armed", "batch", "fail:sync@/.coffer/staged:1", fault: true).lines()
    #expect(lines.first?.hasPrefix("commit inputOutput") == true, "\(lines)")
  }

  /// After a kill between rename and sync, recovery must sync before it deletes the intents.
  @Test func aRecoveryThatFindsEverythingInPlaceSyncsAllTheSame() async throws {
    let directory = try await StoreDirectory.filled()
    let lines = try directory.run("files-armed", "single", "kill:sync@:1", fault: true).lines()
    #expect(lines.isEmpty, "\(lines)")
    #expect(try directory.contents()["theme"] == Data("single".utf8))
    let recovery = try directory.run("files-armed-open", "fail:sync@:1", fault: true).lines()
    #expect(recovery.count == 2 && recovery[0].hasPrefix("open outcomeUnknown"), "\(recovery)")
    var aftermath = Aftermath(directory: directory, comment: "after a recovery that could not sync")
    aftermath.after = FileScenario.singleAfter
    _ = try await aftermath.check(mustBeNew: true)
  }

  // MARK: One run

  /// The minimum number of times that a commit makes a call; a sweep that finds fewer has missed some.
  private func least(_ call: String, _ batch: String) -> Int {
    let isBatch = batch == "batch"
    return switch call {
    case "write", "renameat": isBatch ? 4 : 1  // one for each value
    case "unlinkat": isBatch ? 3 : 0  // one for each removed key
    case "sync": isBatch ? 7 : 3  // the values, their names, the journal, the directory
    case "openat": isBatch ? 4 : 1
    default: 1
    }
  }

  /// Calls `run` with 1, 2, … until it returns `false`, and returns the number of calls before that.
  private func sweep(_ batch: String, _ run: (Int) async throws -> Bool) async throws -> Int {
    for step in 1...200 where try await !run(step) { return step - 1 }
    throw TestFailure("more than 200 calls in a \(batch)")
  }

  /// Runs a commit with a fault and checks the outcome.
  /// - Returns: Whether the fault was reached; if not, the sweep is complete.
  private func fail(_ fault: String, _ batch: String, _ more: String = "", codes: Set<String> = ["inputOutput"])
    async throws -> Bool
  {
    let directory = try await StoreDirectory.filled()
    let helper = try HelperProcess(
      ["files-armed", directory.path, batch, fault] + (more.isEmpty ? [] : [more]),
      environment: [("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_FAULT_ROOT", directory.path)])
    let lines = try helper.lines()
    #expect(helper.wait() == 0, "\(fault): \(lines)")
    let words = lines.map { $0.split(separator: " ") }
    try #require(words.count == 4 && words.allSatisfy { $0.count > 1 }, "\(fault): \(lines)")
    let (commit, later, read) = (String(words[0][1]), String(words[2][1]), String(words[3][1]))
    let isClosed = commit == "outcomeUnknown"
    #expect(commit == "ok" || isClosed || codes.contains(commit) || commit == "unfinished", "\(fault): \(lines)")
    #expect(later == (isClosed ? "closed" : "ok"), "\(fault): \(lines)")
    #expect(read == (isClosed ? "closed" : "ok"), "\(fault): \(lines)")
    var aftermath = Aftermath(directory: directory, comment: "\(fault) of a \(batch): \(lines[0])")
    if batch == "single" { aftermath.after = FileScenario.singleAfter }
    aftermath.isLaterStored = later == "ok"
    let says = lines[0].contains("is stored")
    _ = try await aftermath.check(
      mustBeNew: commit == "ok" || says, mustBeOld: commit != "ok" && !isClosed && !says)
    return words[1][1] == "yes"
  }
}
