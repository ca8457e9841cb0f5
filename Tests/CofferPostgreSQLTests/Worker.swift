import CofferCore
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// A process whose writers use a store, and what it has printed. A thread of its own reads that.
final class Worker: Sendable {
  private struct State {
    var lines: [String] = []
    var mustStop = false
    var hasEnded = false
    var failure: String?
  }

  private let state = Locked(State())

  /// Starts a process with several writers.
  init(_ location: String, name: String, writers: Int) {
    let thread = Thread { [state] in
      do {
        let helper = try HelperProcess(["postgresql-work", location, name, "\(writers)"])
        var isTold = false
        while true {
          if let line = try helper.line(within: 50) {
            state.withLock { $0.lines.append(line) }
            if line == "done" { break }
          } else if !helper.process.isRunning {
            state.withLock { $0.failure = "the process has ended" }
            break
          }
          if !isTold, state.withLock({ $0.mustStop }) {
            helper.tell("stop")
            isTold = true
          }
        }
      } catch {
        state.withLock { $0.failure = "\(error)" }
      }
      state.withLock { $0.hasEnded = true }
    }
    thread.name = "coffer.worker"
    thread.start()
  }

  /// The lines so far that begin with a word, without it.
  func lines(_ word: String) -> [Substring] {
    state.withLock { state in
      state.lines.filter { $0.hasPrefix(word + " ") }.map { $0.dropFirst(word.count + 1) }
    }
  }

  /// The number of acknowledged commits so far.
  var acknowledged: Int { state.withLock { state in state.lines.count { $0.hasPrefix("ack ") } } }

  /// Ends the writers, and waits for the end of the process.
  func stop() async throws {
    state.withLock { $0.mustStop = true }
    try await eventually("the worker ends") { state.withLock { $0.hasEnded } }
    if let failure = state.withLock({ $0.failure }) { throw TestFailure(failure) }
  }
}

extension [Worker] {
  /// Waits until writers have made more commits.
  func progress() async throws {
    let goal = reduce(0) { $0 + $1.acknowledged } + 100
    try await eventually("100 more commits") { reduce(0) { $0 + $1.acknowledged } >= goal }
  }

  /// Ends the writers, and compares what they were told with the journal, and among each other.
  /// - Parameter psql: runs SQL on the primary.
  func check(_ psql: (String) async throws -> String) async throws {
    for worker in self { try await worker.stop() }
    let rows = try await psql("SELECT encode(transaction, 'hex'), revision FROM coffer.journal ORDER BY revision")
    var found: [Substring: [Substring]] = [:]
    for row in rows.split(separator: "\n") {
      let parts = row.split(separator: "|")
      found[parts[0], default: []].append(parts[1])
    }
    func revisions(_ id: Substring) -> [Substring] { found[Substring(id.replacing("-", with: "").lowercased())] ?? [] }
    let acknowledged = flatMap { $0.lines("ack") }.map { $0.split(separator: " ") }
    let refused = flatMap { $0.lines("refused") }.filter { $0 != "-" }
    let unknown = flatMap { $0.lines("unknown") }.filter { $0 != "-" }
    let failed = flatMap { $0.lines("failed") }
    print("failover: \(acknowledged.count) acknowledged, \(refused.count) refused, \(unknown.count) unknown")
    let lost = acknowledged.filter { revisions($0[0]) != [$0[1]] }
    #expect(lost.isEmpty, "\(lost.prefix(5)) of \(acknowledged.count)")
    #expect(refused.allSatisfy { revisions($0).isEmpty }, "a refused commit was applied")
    #expect(unknown.allSatisfy { revisions($0).count <= 1 }, "a commit was applied twice")
    #expect(failed.isEmpty, "\(failed.prefix(5))")
    // A read of a process that was still connected to the primary that was cut off may be old: there is no quorum read.
    let history = try OperationHistory(lines: flatMap { $0.lines("op") }.map(String.init))
    let verdict = history.check()
    #expect(verdict == .linearizable, "\(verdict)")
    let judged = verdict == .linearizable ? "linearizable" : "not linearizable"
    print("failover: \(history.operations.count) operations on shared keys, \(judged)")
  }
}
