import Foundation

/// The time until a channel tries again after a failure.
public enum RetryPolicy: Sendable {
  /// A minute, for channels of this device.
  case steady
  /// A minute, doubled for each consecutive failure up to six hours, for servers. A refusal that a retry cannot mend is
  /// retried after six hours. The times vary at random by a fifth.
  case backoff

  /// Returns the time until the next attempt, in seconds. A server that requests more time gets it, up to a day.
  /// - Parameters:
  ///   - failures: the number of consecutive failures.
  ///   - error: the last failure.
  ///   - jitter: returns a random number in a range.
  func delay(
    after failures: Int, _ error: ChannelError,
    jitter: (ClosedRange<Double>) -> Double = { Double.random(in: $0) }
  ) -> TimeInterval {
    switch self {
    case .steady: return max(60, error.retryAfter ?? 0)
    case .backoff:
      let longest = 6.0 * 3_600
      let usual = error.isTemporary ? min(60 * pow(2, Double(min(max(failures, 1), 20) - 1)), longest) : longest
      return min(max(usual * jitter(0.8...1.2), error.retryAfter ?? 0), 86_400)
    }
  }
}
