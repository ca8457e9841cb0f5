import CofferCore
import CofferFiles
import CofferTestSupport
import Foundation

/// The changes that a subscriber in this process has received so far.
final class Heard: Sendable {
  struct Change: Hashable {
    let isForeign: Bool
    let keys: [String]
    let transaction: TransactionID?
  }

  private let heard = Locked<[Change]>([])
  private let task: Task<Void, Never>

  init(_ engine: SlotEngine) {
    let stream = engine.changes(since: nil)
    task = Task { [heard] in
      for await change in stream {
        guard case .commit(let commit) = change else { continue }
        let isForeign = commit.transaction == nil && commit.origin == nil
        let keys = commit.changed.keys.map(\.string).sorted()
        heard.withLock { $0.append(Change(isForeign: isForeign, keys: keys, transaction: commit.transaction)) }
      }
    }
  }

  deinit { task.cancel() }

  var changes: [Change] { heard.withLock { $0 } }
  var foreign: [[String]] { changes.filter(\.isForeign).map(\.keys) }

  /// Waits until a commit of a key was received.
  func wait(for key: String) async throws {
    try await eventually("'\(key)' is received") { changes.contains { $0.keys.contains(key) } }
  }
}

extension SlotEngine {
  func put(_ key: String, _ text: String) async throws {
    try await commit(WriteBatch([.put(KeyName(key), Data(text.utf8))]), from: StoreOrigin())
  }

  func text(_ key: String) async throws -> String? {
    try await entry(KeyName(key)).map { String(decoding: $0.value, as: UTF8.self) }
  }
}
