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
struct PreferenceSystemCallTests {
  private static let calls = ["write", "pwrite", "sync", "renameat", "unlinkat", "openat"]

  @Test(arguments: calls) func aKillInFrontOfEachCall(call: String) async throws {
    let count = try await sweep { step in
      let fixture = try await PreferenceFixture.filled()
      let lines = try fixture.run("prefs-armed", "kill:\(call):\(step)", fault: true).lines()
      var aftermath = PreferenceAftermath(fixture: fixture, comment: "killed in front of \(call) \(step)")
      aftermath.isLaterStored = lines.contains("later ok")
      aftermath.asksFoundation = false
      _ = try await aftermath.check(mustBeNew: lines.contains("commit ok"))
      return !lines.contains { $0.hasPrefix("read") }
    }
    #expect(count >= least(call), "\(count)")
  }

  @Test(arguments: calls) func aFailureOfEachCall(call: String) async throws {
    let count = try await sweep { step in try await fail("fail:\(call):\(step)") }
    #expect(count >= least(call), "\(count)")
  }

  /// A full disk at each call.
  @Test(arguments: ["write", "pwrite", "openat", "renameat"]) func aFullDiskAtEachCall(call: String) async throws {
    let count = try await sweep { step in
      try await fail("full:\(call):\(step)", codes: ["diskFull", "inputOutput"])
    }
    #expect(count >= least(call), "\(count)")
  }

  /// A failed sync of the file's directory: its renames may not survive power loss.
  @Test func aFailedSyncOfTheDirectoryIsNoAcknowledgement() async throws {
    #expect(try await fail("fail:sync@:1"), "there was no such sync")
    let fixture = try await PreferenceFixture.filled()
    let lines = try fixture.run("prefs-armed", "fail:sync@:1", fault: true).lines()
    let answer = try #require(lines.first)
    #expect(answer.hasPrefix("commit unfinished") || answer.hasPrefix("commit outcomeUnknown"), "\(lines)")
  }

  /// A failed sync of the staging directory: a batch is committed only if all its staged files are durable.
  @Test func aFailedSyncOfWhatWaitsFailsTheBatch() async throws {
    let fault = "fail:sync@/.coffer-preferences/com.example.shop/staged:1"
    #expect(try await fail(fault), "there was no such sync")
    let fixture = try await PreferenceFixture.filled()
    let lines = try fixture.run("prefs-armed", fault, fault: true).lines()
    #expect(lines.first?.hasPrefix("commit inputOutput") == true, "\(lines)")
  }

  // MARK: One run

  /// The minimum number of times that a commit makes a call; a sweep that finds fewer has missed some.
  private func least(_ call: String) -> Int {
    switch call {
    case "write": 7  // four values, the file, the copy, its seal
    case "openat": 6
    case "sync": 8  // the values, their names, the journal, the file, its name
    case "renameat": 1  // the file
    case "unlinkat": 4  // the staged files
    default: 1
    }
  }

  /// Calls `run` with 1, 2, … until it returns `false`, and returns the number of calls before that.
  private func sweep(_ run: (Int) async throws -> Bool) async throws -> Int {
    for step in 1...200 where try await !run(step) { return step - 1 }
    throw TestFailure("more than 200 calls")
  }

  /// Runs a commit with a fault and checks the outcome.
  /// - Returns: Whether the fault was reached; if not, the sweep is complete.
  private func fail(_ fault: String, codes: Set<String> = ["inputOutput"]) async throws -> Bool {
    let fixture = try await PreferenceFixture.filled()
    let helper = try fixture.run("prefs-armed", fault, fault: true)
    let lines = try helper.lines()
    #expect(helper.wait() == 0, "\(fault): \(lines)")
    let words = lines.map { $0.split(separator: " ") }
    try #require(words.count == 4 && words.allSatisfy { $0.count > 1 }, "\(fault): \(lines)")
    let (commit, later, read) = (String(words[0][1]), String(words[2][1]), String(words[3][1]))
    let isClosed = commit == "outcomeUnknown"
    #expect(commit == "ok" || isClosed || codes.contains(commit) || commit == "unfinished", "\(fault): \(lines)")
    #expect(later == (isClosed ? "closed" : "ok"), "\(fault): \(lines)")
    #expect(read == (isClosed ? "closed" : "ok"), "\(fault): \(lines)")
    var aftermath = PreferenceAftermath(fixture: fixture, comment: "\(fault): \(lines[0])")
    aftermath.isLaterStored = later == "ok"
    aftermath.asksFoundation = false
    let says = lines[0].contains("is stored")
    _ = try await aftermath.check(
      mustBeNew: commit == "ok" || says, mustBeOld: commit != "ok" && !isClosed && !says)
    return words[1][1] == "yes"
  }
}
