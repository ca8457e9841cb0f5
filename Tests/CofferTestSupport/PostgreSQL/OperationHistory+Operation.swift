import Foundation

extension OperationHistory {
  /// One operation of a client on one key, as it saw it: an element of a history.
  package struct Operation: Codable, Hashable, Sendable {
    /// What the operation did. `nil` stands for an absent value.
    package enum Action: Codable, Hashable, Sendable {
      /// Read the value, and returned it.
      case read(String?)
      /// Put a value, or deleted it. In one history, each put stores another value.
      case write(String?)
      /// Put a value, or deleted it, provided that the present value was `expected`.
      case exchange(expected: String?, new: String?)
    }

    /// What the client knows about the operation.
    package enum Outcome: String, Codable, Hashable, Sendable {
      /// It has returned.
      case done
      /// An exchange that was refused, since another value was present.
      case refused
      /// It was certainly not applied, and never will be.
      case failed
      /// It may take effect at any time after its start, or never.
      case unknown
    }

    /// The client, which does one thing after another.
    package let client: String
    /// The key.
    package let key: String
    /// What was done.
    package let action: Action
    /// What the client knows about it.
    package let outcome: Outcome
    /// When it was started, in nanoseconds of ``now()``.
    package let start: UInt64
    /// When it returned.
    package let end: UInt64

    /// Creates an operation.
    package init(client: String, key: String, _ action: Action, _ outcome: Outcome, start: UInt64, end: UInt64) {
      (self.client, self.key, self.action, self.outcome) = (client, key, action, outcome)
      (self.start, self.end) = (start, end)
    }

    /// The present time in nanoseconds, by a clock that all processes of a machine share and nobody sets
    /// (`CLOCK_MONOTONIC`).
    package static func now() -> UInt64 {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
  }
}

extension OperationHistory.Operation: CustomStringConvertible {
  /// The operation in one line: `12.345 to 12.360 ms, client 7: put 'a' (unknown)`.
  package var description: String {
    func shown(_ value: String?) -> String { value.map { "'\($0)'" } ?? "nothing" }
    let text =
      switch action {
      case .read(let value): "read \(shown(value))"
      case .write(let value): value == nil ? "deleted" : "put \(shown(value))"
      case .exchange(let expected, let new): "exchanged \(shown(expected)) for \(shown(new))"
      }
    let times = String(format: "%.3f to %.3f ms", Double(start) / 1e6, Double(end) / 1e6)
    return "\(times), client \(client): \(text)" + (outcome == .done ? "" : " (\(outcome.rawValue))")
  }
}
