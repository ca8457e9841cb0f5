import Foundation

/// The check of the operations on one key: Wing and Gong's search, with the memory of visited states by Lowe ("Testing
/// for linearizability", 2017).
///
/// An order is built step by step. Any operation may be next that was started before each operation that is not in the
/// order yet has returned. A state, which operations are in the order and the value after them, is visited once.
struct LinearizabilityCheck {
  /// A start or an end in the order of time, linked to those that are still to be ordered.
  private struct Event {
    let operation: Int
    let isStart: Bool
    /// The event of the other kind of the same operation.
    var partner = 0
    var next = 0
    var previous = 0
  }

  private struct State: Hashable {
    var ordered: [UInt64]
    var value: String?
  }

  private let operations: [OperationHistory.Operation]
  private let budget: Int
  /// The events, after one at index 0 that stands before all.
  private var events: [Event] = []

  init(_ all: [OperationHistory.Operation], budget: Int) {
    operations = Self.relevant(all)
    self.budget = budget
    link()
  }

  /// The operations that can contradict others: reads without a result say nothing, a failed write did nothing, and an
  /// unknown one whose value nobody has seen can be last.
  private static func relevant(_ all: [OperationHistory.Operation]) -> [OperationHistory.Operation] {
    var seen: Set<[UInt8]?> = []  // by their bytes, since texts that look alike are different values
    for operation in all where operation.outcome != .failed {
      switch operation.action {
      case .read(let value): seen.insert(value.map { Array($0.utf8) })
      case .exchange(let expected, _): seen.insert(expected.map { Array($0.utf8) })
      case .write: break
      }
    }
    // A refused exchange says only what was not there, which any write explains.
    let hasRefusals = all.contains { $0.outcome == .refused }
    return all.filter { operation in
      switch (operation.outcome, operation.action) {
      case (.failed, _), (.unknown, .read): false
      case (.unknown, _) where hasRefusals: true
      case (.unknown, .write(let value)), (.unknown, .exchange(_, let value)):
        seen.contains(value.map { Array($0.utf8) })
      default: true
      }
    }
  }

  private mutating func link() {
    var times: [(time: UInt64, isStart: Bool, operation: Int)] = []
    for (index, operation) in operations.enumerated() {
      times.append((operation.start, true, index))
      // One that is unknown may take effect at any later time.
      times.append((operation.outcome == .unknown ? .max : operation.end, false, index))
    }
    // Of events at one time, starts come first: such operations count as concurrent.
    times.sort { ($0.time, $0.isStart ? 0 : 1, $0.operation) < ($1.time, $1.isStart ? 0 : 1, $1.operation) }
    events = [Event(operation: -1, isStart: false)]
    var starts = [Int](repeating: 0, count: operations.count)
    for time in times {
      let index = events.count
      events.append(Event(operation: time.operation, isStart: time.isStart, previous: index - 1))
      events[index - 1].next = index
      if time.isStart {
        starts[time.operation] = index
      } else {
        events[index].partner = starts[time.operation]
        events[starts[time.operation]].partner = index
      }
    }
  }

  func verdict() -> OperationHistory.Verdict {
    var search = self
    return search.run()
  }

  private mutating func run() -> OperationHistory.Verdict {
    var state = State(ordered: [UInt64](repeating: 0, count: operations.count / 64 + 1), value: nil)
    var visited: Set<State> = []
    var path: [(event: Int, value: String?)] = []
    var furthest = 0
    var event = events[0].next
    while events[0].next != 0 {
      let operation = events[event].operation
      if events[event].isStart {
        if let value = Self.apply(operations[operation], to: state.value) {
          var next = state
          next.value = value.after
          next.ordered[operation / 64] |= 1 << UInt64(operation % 64)
          if visited.insert(next).inserted {
            guard visited.count <= budget else { return .undecided(key: operations[operation].key) }
            path.append((event, state.value))
            state = next
            take(event)
            event = events[0].next
            continue
          }
        }
        event = events[event].next
      } else {
        // This operation has returned, and is not in the order: the last step was wrong.
        furthest = max(furthest, event)
        guard let last = path.popLast() else { return .violation(window(around: furthest)) }
        let undone = events[last.event].operation
        state.value = last.value
        state.ordered[undone / 64] &= ~(1 << UInt64(undone % 64))
        putBack(last.event)
        event = events[last.event].next
      }
    }
    return .linearizable
  }

  /// The value after an operation that is next; `nil` if it cannot be.
  private static func apply(_ operation: OperationHistory.Operation, to value: String?) -> (after: String?, Void)? {
    switch (operation.action, operation.outcome) {
    case (.read(let found), _): found == value ? (value, ()) : nil
    case (.write(let new), _): (new, ())
    case (.exchange(let expected, _), .refused): expected != value ? (value, ()) : nil
    // One of unknown outcome may have found another value, and done nothing.
    case (.exchange(let expected, let new), .unknown): (expected == value ? new : value, ())
    case (.exchange(let expected, let new), _): expected == value ? (new, ()) : nil
    }
  }

  private mutating func take(_ start: Int) {
    for index in [start, events[start].partner] {
      let (previous, next) = (events[index].previous, events[index].next)
      events[previous].next = next
      if next != 0 { events[next].previous = previous }
    }
  }

  private mutating func putBack(_ start: Int) {
    for index in [events[start].partner, start] {
      let (previous, next) = (events[index].previous, events[index].next)
      events[previous].next = index
      if next != 0 { events[next].previous = index }
    }
  }

  /// The operations that were under way together with the one that cannot be explained, and the writes before them.
  private func window(around event: Int) -> [OperationHistory.Operation] {
    let culprit = operations[events[event].operation]
    let together = operations.filter { $0.start <= culprit.end && ($0.outcome == .unknown || $0.end >= culprit.start) }
    let from = together.map(\.start).min() ?? culprit.start
    let before = operations.filter { $0.end < from && $0.outcome == .done }.sorted { $0.end < $1.end }.suffix(3)
    return (before + together).sorted { ($0.start, $0.end) < ($1.start, $1.end) }
  }
}
