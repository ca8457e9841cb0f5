import CofferCore
import Foundation

/// A record of what clients have done, and of what they were told, for a check afterwards.
///
/// Several processes each write ``lines`` of their own; a history is made of all of them. An operation is recorded when
/// it returns: one that a killed process had begun is missing, so add it as
/// ``OperationHistory/Operation/Outcome/unknown``.
package final class OperationHistory: Sendable {
  private let recorded = Locked<[Operation]>([])

  /// Creates a history, of operations that were recorded elsewhere.
  package init(_ operations: [Operation] = []) { recorded.withLock { $0 = operations } }

  /// Creates a history of lines that ``lines`` of several processes have.
  /// - Throws: `DecodingError` for a line that is no operation.
  package convenience init(lines: [String]) throws {
    let decoder = JSONDecoder()
    self.init(try lines.map { try decoder.decode(Operation.self, from: Data($0.utf8)) })
  }

  /// The operations so far, in the order in which they were recorded.
  package var operations: [Operation] { recorded.withLock { $0 } }

  /// The operations, each as one line of JSON.
  package var lines: [String] { operations.compactMap(\.line) }

  /// Adds an operation.
  package func add(_ operation: Operation) { recorded.withLock { $0.append(operation) } }

  /// Runs a write, and records it with its outcome.
  /// - Parameters:
  ///   - client: the client, which does one thing after another.
  ///   - key: the key.
  ///   - action: what the write does.
  ///   - body: the write.
  ///   - outcome: returns the outcome of a write that threw an error.
  /// - Throws: the error of `body`, once it is recorded.
  @discardableResult
  package func record<R>(
    client: String, key: String, _ action: Operation.Action, _ body: () async throws -> R,
    outcome: (any Error) -> Operation.Outcome
  ) async throws -> R {
    let start = Operation.now()
    func add(_ outcome: Operation.Outcome) {
      self.add(
        Operation(
          client: client, key: key, action, outcome, start: start, end: Operation.now()))
    }
    do {
      let result = try await body()
      add(.done)
      return result
    } catch {
      add(outcome(error))
      throw error
    }
  }

  /// Checks that there is an order of the operations on each key that explains all that clients were told.
  /// - Parameter budget: the number of states, for each key, after which the check gives up.
  package func check(budget: Int = 2_000_000) -> Verdict {
    for (_, operations) in Dictionary(grouping: operations, by: \.key).sorted(by: { $0.key < $1.key }) {
      let verdict = LinearizabilityCheck(operations, budget: budget).verdict()
      if verdict != .linearizable { return verdict }
    }
    return .linearizable
  }
}

extension OperationHistory.Operation {
  /// The operation as one line of JSON.
  package var line: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }
}

extension OperationHistory {
  /// The result of a check of a history.
  package enum Verdict: Hashable, Sendable {
    /// There is an order that explains every operation.
    case linearizable
    /// There is none. The operations are those on one key around the first that cannot be explained.
    case violation([OperationHistory.Operation])
    /// The check has given up on a key, since too many operations were under way at once.
    case undecided(key: String)
  }
}

extension OperationHistory.Verdict: CustomStringConvertible {
  /// The verdict, with the operations of a violation, one in each line.
  package var description: String {
    switch self {
    case .linearizable: "linearizable"
    case .violation(let operations):
      "no order explains these operations on '\(operations.first?.key ?? "")':\n"
        + operations.map(\.description).joined(separator: "\n")
    case .undecided(let key): "undecided: too many operations on '\(key)' at once"
    }
  }
}
