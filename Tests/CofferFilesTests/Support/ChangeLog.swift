import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

/// The changes that a subscriber has received so far.
protocol ChangeLog: AnyObject {
  func commits() throws -> [HeardCommit]
}

struct HeardCommit: Hashable, CustomStringConvertible {
  let revision: UInt64
  let isForeign: Bool
  let keys: [String]
  var description: String { "\(revision) \(isForeign ? "foreign" : "own") \(keys)" }
}

/// A subscriber in this process.
final class OwnLog: ChangeLog {
  private let heard = Locked<[HeardCommit]>([])
  private let hasReloaded = Locked(false)
  private let task: Task<Void, Never>

  init(_ engine: SlotEngine) {
    let stream = engine.changes(since: nil)
    task = Task { [heard, hasReloaded] in
      for await change in stream {
        guard case .commit(let commit) = change else {
          hasReloaded.withLock { $0 = true }
          continue
        }
        let isForeign = commit.transaction == nil && commit.origin == nil
        let keys = commit.changed.keys.map(\.string).sorted()
        heard.withLock { $0.append(.init(revision: commit.revision.rawValue, isForeign: isForeign, keys: keys)) }
      }
    }
  }

  deinit { task.cancel() }

  func commits() throws -> [HeardCommit] {
    guard !hasReloaded.withLock({ $0 }) else { throw TestFailure("received a reload") }
    return heard.withLock { $0 }
  }
}

/// A subscriber in another process.
final class OtherLog: ChangeLog {
  private let helper: HelperProcess
  private var heard: [HeardCommit] = []

  init(_ directory: StoreDirectory) throws {
    helper = try directory.run("files-watch")
    guard let line = try helper.line(), line == "ready" else { throw TestFailure("the helper is not ready") }
  }

  func commits() throws -> [HeardCommit] {
    while let line = try helper.line(within: 0) {
      let words = line.split(separator: " ").map(String.init)
      guard words.count >= 3, words[0] == "commit", let revision = UInt64(words[1]) else { throw TestFailure(line) }
      heard.append(.init(revision: revision, isForeign: words[2] == "foreign", keys: Array(words[3...])))
    }
    return heard
  }

  func end() {
    helper.tell("end")
    helper.wait()
  }
}

extension ChangeLog {
  /// Waits until `times` commits of a key were received.
  func wait(for key: String, times: Int = 1) async throws {
    try await eventually("'\(key)' is received \(times) times") {
      try commits().count { $0.keys.contains(key) } >= times
    }
  }
}
