import CofferTestSupport
import Foundation
import Testing

/// The check of histories agrees with a search through all orders, and finds one changed read.
@Suite("Histories")
struct LinearizabilityTests {
  private func operation(
    _ client: String, _ action: OperationHistory.Operation.Action, _ start: UInt64, _ end: UInt64,
    _ outcome: OperationHistory.Operation.Outcome = .done
  ) -> OperationHistory.Operation {
    OperationHistory.Operation(client: client, key: "k", action, outcome, start: start, end: end)
  }

  private func isFine(_ operations: [OperationHistory.Operation]) -> Bool {
    OperationHistory(operations).check() == .linearizable
  }

  @Test("Small histories are judged as by trying all orders", arguments: 0..<40)
  func againstAllOrders(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<50 {
      let operations = (0..<Int.random(in: 2...6, using: &random)).map { number in
        let start = UInt64.random(in: 0..<12, using: &random)
        let values: [String?] = [nil, "1", "2", "3"]
        let value = values.randomElement(using: &random) ?? nil
        let action: OperationHistory.Operation.Action =
          switch Int.random(in: 0..<4, using: &random) {
          case 0: .write("\(number)")
          case 1: .exchange(expected: value, new: "\(number)")
          default: .read(value)
          }
        var outcomes: [OperationHistory.Operation.Outcome] = [.done, .done, .done, .unknown, .failed]
        if case .exchange = action { outcomes += [.refused, .refused] }
        return operation(
          "\(number)", action, start, start + UInt64.random(in: 1..<8, using: &random),
          outcomes.randomElement(using: &random) ?? .done)
      }
      let expected = AllOrders(operations).explain()
      #expect(isFine(operations) == expected, "\(operations)")
    }
  }

  @Test("A long history of many clients is checked, and one changed read in it is found")
  func long() {
    var random = SeededGenerator(seed: 5)
    let (keys, perKey) = (isThreadSanitized ? 5 : 20, 500)
    var operations: [OperationHistory.Operation] = []
    for key in 0..<keys {
      var value: String?
      var time: UInt64 = 0
      for number in 0..<perKey {
        // Each takes effect at `time`, and is under way around it.
        time += 10
        let around = (
          start: time - UInt64.random(in: 0..<30, using: &random) % time,
          end: time + UInt64.random(in: 1..<30, using: &random)
        )
        let isWrite = number.isMultiple(of: 3)
        if isWrite { value = "\(number)" }
        let isUnknown = isWrite && number.isMultiple(of: 21)
        operations.append(
          OperationHistory.Operation(
            client: "\(number % 8)", key: "\(key)", isWrite ? .write(value) : .read(value),
            isUnknown ? .unknown : .done, start: around.start, end: around.end))
      }
    }
    #expect(OperationHistory(operations).check() == .linearizable)
    let index = operations.count / 2 + 1
    let changed = operations[index]
    operations[index] = OperationHistory.Operation(
      client: changed.client, key: changed.key, .read("never written"), .done, start: changed.start, end: changed.end)
    guard case .violation(let window) = OperationHistory(operations).check() else {
      Issue.record("not found")
      return
    }
    #expect(window.contains(operations[index]) && window.count < 40)
  }
}

/// Tries all orders of few operations.
private struct AllOrders {
  private let operations: [OperationHistory.Operation]

  init(_ operations: [OperationHistory.Operation]) { self.operations = operations.filter { $0.outcome != .failed } }

  func explain() -> Bool { explain(Array(operations.indices), nil) }

  private func explain(_ rest: [Int], _ value: String?) -> Bool {
    // What is unknown need not happen.
    if rest.allSatisfy({ operations[$0].outcome == .unknown }) { return true }
    for (position, index) in rest.enumerated() {
      let next = operations[index]
      let mayBeNext = rest.allSatisfy { other in
        other == index || operations[other].outcome == .unknown || operations[other].end >= next.start
      }
      guard mayBeNext else { continue }
      var others = rest
      others.remove(at: position)
      for after in results(of: next, value) where explain(others, after) { return true }
    }
    return false
  }

  private func results(of operation: OperationHistory.Operation, _ value: String?) -> [String?] {
    switch (operation.action, operation.outcome) {
    case (.read, .unknown): [value]
    case (.read(let found), _): found == value ? [value] : []
    case (.write(let new), _): [new]
    case (.exchange(let expected, _), .refused): expected != value ? [value] : []
    case (.exchange(let expected, let new), .unknown): [expected == value ? new : value]
    case (.exchange(let expected, let new), _): expected == value ? [new] : []
    }
  }
}
