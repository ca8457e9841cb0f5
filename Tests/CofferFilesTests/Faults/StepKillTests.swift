import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A writer killed at each step of a batch, and the recoveries that follow.
@Suite(.blocking, .serialized) struct StepKillTests {
  private static let committed = ["committed", "placed", "synced", "finished"]

  // Requirement 1.43
  @Test func aKillAtEveryStepOfABatchLeavesItWhole() async throws {
    var kills = 0
    for step in 1...100 {
      let directory = try await StoreDirectory.filled()
      let lines = try self.lines(of: directory.run("files-commit", "\(step)"))
      let last = lines.last { $0.hasPrefix("step") } ?? ""
      let mustBeNew = Self.committed.contains(String(last.dropFirst(5)))
      let aftermath = Aftermath(directory: directory, comment: "killed at \(step): \(last)")
      let isNew = try await aftermath.check(mustBeNew: mustBeNew || lines.contains("ack"), mustBeOld: !mustBeNew)
      if lines.last == "closed" {
        #expect(isNew)
        break
      }
      kills += 1
    }
    // Four values staged, a record, a commit, seven keys published (four put, two cleared, one deleted), the rest.
    #expect(kills >= 13 && kills < 100, "\(kills)")
  }

  /// The process that opens the store and rolls the batch forward is killed at each of its steps as well.
  @Test func aRecoveryThatIsKilledIsFinishedByTheNext() async throws {
    var recoveries = 0
    for step in 1...100 {
      let first = try await StoreDirectory.filled()
      let lines = try self.lines(of: first.run("files-commit", "\(step)"))
      if lines.last == "closed" { break }
      guard let last = lines.last(where: { $0.hasPrefix("step") })?.dropFirst(5),
        Self.committed.contains(String(last))
      else { continue }
      for recoveryStep in 1...100 {
        let directory = try first.copy()
        let recovered = try self.lines(of: directory.run("files-open", "\(recoveryStep)"))
        let aftermath = Aftermath(directory: directory, comment: "killed at \(step), recovery at \(recoveryStep)")
        _ = try await aftermath.check(mustBeNew: true)
        recoveries += 1
        if recovered.last == "closed" { break }
      }
    }
    #expect(recoveries > 40, "\(recoveries)")
  }

  private func lines(of helper: HelperProcess) throws -> [String] {
    let lines = try helper.lines()
    helper.wait()
    #expect(!lines.contains { $0.hasPrefix("error") }, "\(lines)")
    return lines
  }
}
