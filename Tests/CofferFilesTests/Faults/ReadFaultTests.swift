import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A device that fails during reads: a failed read is never reported as absence, and never becomes a deletion.
@Suite(.blocking, .serialized, .enabled(if: FaultLibrary.path != nil, "no C compiler to build the fault library with"))
struct ReadFaultTests {
  @Test(arguments: ["openat", "read", "fstatat"])
  func aReadThatFailsIsAnErrorAndNotAbsent(call: String) async throws {
    let directory = try await StoreDirectory.filled()
    var struck = 0
    for step in 1...40 {
      let lines = try directory.run("files-armed-read", "fail:\(call):\(step)", fault: true).lines()
      let answers = lines.split { $0.hasPrefix("struck") }.map { $0.joined(separator: "; ") }
      try #require(answers.count == 4, "\(lines)")
      for (answer, right) in zip(answers, ["value; entry ok", "nil; entry ok", "value; entry ok"]) {
        #expect(answer == right || answer.hasPrefix("entry inputOutput"), "\(lines)")
      }
      // A page may end before an unreadable value; the next page throws then.
      let count = FileScenario.before.count
      let isPage = (1...count).contains { answers[3] == "\($0); page ok" }
      #expect(isPage || answers[3].hasPrefix("page inputOutput"), "\(lines)")
      let strikes = lines.count { $0 == "struck yes" }
      if strikes == 0 { break }
      struck += strikes
    }
    #expect(struck >= (call == "fstatat" ? 1 : FileScenario.before.count), "\(struck)")
    _ = try await Aftermath(directory: directory, comment: "after reads that failed").check(mustBeOld: true)
  }

  @Test(arguments: ["openat", "read", "fstatat", "lstat", "renameat", "unlinkat", "write", "pwrite", "sync"])
  func anOpenThatFailsChangesNothing(call: String) async throws {
    // A pending commit gives the open something to roll forward.
    let killed = try await StoreDirectory.filled()
    let steps = try killed.run("files-commit", "7").lines()
    #expect(steps.last == "step placed")
    for step in 1...100 {
      let directory = try killed.copy()
      let lines = try directory.run("files-armed-open", "fail:\(call):\(step)", fault: true).lines()
      try #require(lines.count == 2 && lines[0].hasPrefix("open"), "\(lines)")
      let aftermath = Aftermath(directory: directory, comment: "fail:\(call):\(step): \(lines)")
      _ = try await aftermath.check(mustBeNew: true)
      if lines[1] == "struck no" { break }
      #expect(step < 100)
    }
  }
}
