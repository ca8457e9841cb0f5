import CofferTesting
import Foundation
import Testing

/// The check of histories: it accepts those of a correct register and finds each planted violation.
@Suite("Histories")
struct LinearizabilityTests {
  private typealias Action = OperationHistory.Operation.Action

  private func operation(
    _ client: String, _ action: OperationHistory.Operation.Action, _ start: UInt64, _ end: UInt64,
    _ outcome: OperationHistory.Operation.Outcome = .done
  ) -> OperationHistory.Operation {
    OperationHistory.Operation(client: client, key: "k", action, outcome, start: start, end: end)
  }

  private func isFine(_ operations: [OperationHistory.Operation]) -> Bool {
    OperationHistory(operations).check() == .linearizable
  }

  @Test("Planted violations are found")
  func violations() {
    let put = operation("a", .write("1"), 0, 10)
    let planted: [(String, [OperationHistory.Operation])] = [
      ("a stale read", [put, operation("a", .write("2"), 20, 30), operation("b", .read("1"), 40, 50)]),
      ("a lost write", [put, operation("b", .read(nil), 20, 30)]),
      (
        "a write that is applied twice",
        [
          put, operation("b", .write("2"), 20, 30), operation("b", .read("2"), 40, 50),
          operation("b", .read("1"), 60, 70),
        ]
      ),
      ("a read of a failed write", [operation("a", .write("1"), 0, 10, .failed), operation("b", .read("1"), 20, 30)]),
      (
        "an unknown write that is seen, then not",
        [
          operation("a", .write("1"), 0, 10, .unknown), operation("b", .read("1"), 20, 30),
          operation("c", .read(nil), 40, 50),
        ]
      ),
      (
        "a deletion that is undone", [put, operation("a", .write(nil), 20, 30), operation("b", .read("1"), 40, 50)]
      ),
      (
        "two readers that disagree about an order",
        [
          operation("a", .write("1"), 0, 100), operation("b", .write("2"), 0, 100), operation("c", .read("1"), 10, 20),
          operation("c", .read("2"), 30, 40), operation("d", .read("2"), 10, 20), operation("d", .read("1"), 30, 40),
          operation("c", .read("1"), 50, 60),
        ]
      ),
      (
        "two exchanges of one value",
        [
          put, operation("b", .exchange(expected: "1", new: "2"), 20, 30),
          operation("c", .exchange(expected: "1", new: "3"), 20, 30),
        ]
      ),
      (
        "an exchange that is refused without a reason",
        [put, operation("b", .exchange(expected: "1", new: "2"), 20, 30, .refused)]
      ),
      (
        "an unknown write that happens twice",
        [
          operation("a", .write("1"), 0, 10, .unknown), operation("b", .read("1"), 20, 30),
          operation("b", .write("2"), 40, 50), operation("b", .read("1"), 60, 70),
        ]
      ),
      ("a read before the write", [operation("b", .read("1"), 0, 5), operation("a", .write("1"), 10, 20)]),
    ]
    for (name, operations) in planted {
      let verdict = OperationHistory(operations).check()
      guard case .violation(let window) = verdict else {
        Issue.record("\(name): \(verdict)")
        continue
      }
      #expect(!window.isEmpty, "\(name)")
    }
  }

  @Test("What may have happened is accepted")
  func accepted() {
    #expect(isFine([operation("a", .write("1"), 0, 30), operation("b", .read(nil), 10, 20)]))
    #expect(isFine([operation("a", .write("1"), 0, 30), operation("b", .read("1"), 10, 20)]))
    let unknown = operation("a", .write("1"), 0, 10, .unknown)
    #expect(isFine([unknown, operation("b", .read(nil), 20, 30), operation("b", .read("1"), 40, 50)]))
    #expect(isFine([unknown, operation("b", .write("2"), 20, 30), operation("b", .read("1"), 40, 50)]))
    #expect(isFine([unknown, operation("b", .read(nil), 20, 30)]))
    #expect(isFine([operation("a", .exchange(expected: "9", new: "1"), 0, 10, .refused)]))
    #expect(isFine([operation("a", .exchange(expected: nil, new: "1"), 0, 10), operation("b", .read("1"), 20, 30)]))
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

  @Test("A check that exceeds its budget says so")
  func budget() {
    let writes = (0..<12).map { operation("\($0)", .write("\($0)"), 0, 100) }
    let reads = (0..<12).map { operation("r\($0)", .read("\($0)"), 0, 100) }
    #expect(
      OperationHistory(writes + reads + [operation("x", .read("-"), 0, 100)]).check(budget: 1_000)
        == .undecided(key: "k"))
  }

  @Test("Lines of several processes make one history")
  func lines() async throws {
    let history = OperationHistory()
    try await history.record(client: "1", key: "k", .write("é")) {
    } outcome: { _ in
      .failed
    }
    struct Refusal: Error {}
    await #expect(throws: Refusal.self) {
      try await history.record(client: "1", key: "k", .exchange(expected: nil, new: "2")) {
        throw Refusal()
      } outcome: { _ in
        .refused
      }
    }
    let other = OperationHistory([operation("2", .read(nil), 0, 1)])
    let all = try OperationHistory(lines: history.lines + other.lines)
    #expect(all.operations == history.operations + other.operations)
    #expect(all.check() == .linearizable)
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
