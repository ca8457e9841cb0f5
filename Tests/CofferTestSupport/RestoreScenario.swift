package import CofferCore
import Foundation

/// A state that is backed up and a later one, each with values and system records.
package enum RestoreScenario {
  package struct State: Equatable, Sendable, CustomStringConvertible {
    package var values: [String: String]
    package var records: [String: String]
    package var description: String { "values \(values), records \(records)" }
  }

  package static let old = State(values: ["k": "old", "only-old": "x"], records: ["r": "old", "only-old": "y"])
  package static let new = State(values: ["k": "new", "only-new": "x"], records: ["r": "new", "only-new": "y"])

  /// Returns a batch that changes a store from either state to the given one.
  package static func batch(to state: State) throws -> WriteBatch {
    var operations: [WriteBatch.Operation] = [.clear(prefix: nil)]
    for (key, value) in state.values { operations.append(.put(try KeyName(key), Data(value.utf8))) }
    for name in names where state.records[name] == nil { operations.append(.deleteRecord(try SystemRecord.Name(name))) }
    for (name, content) in state.records {
      operations.append(.putRecord(try SystemRecord.Name(name), Data(content.utf8)))
    }
    return WriteBatch(operations)
  }

  package static func state(of engine: any StorageEngine) async throws -> State {
    var state = State(values: [:], records: [:])
    let entries = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
    for entry in entries { state.values[entry.key.string] = String(decoding: entry.value, as: UTF8.self) }
    for name in names {
      guard let record = try await engine.record(SystemRecord.Name(name)) else { continue }
      state.records[name] = String(decoding: record.content, as: UTF8.self)
    }
    return state
  }

  private static let names = ["r", "only-old", "only-new"]
}
