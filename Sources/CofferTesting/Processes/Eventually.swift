import Foundation

/// The longest wait in seconds.
private var limit: Int { 60 * patience }

/// Waits until a condition holds, and looks every 5 ms.
///
/// ```swift
/// try await eventually("the change arrives") { changes.withLock { $0.count == 1 } }
/// ```
/// - Parameters:
///   - what: what is awaited, for the error.
///   - condition: returns whether it has happened.
/// - Throws: ``TestFailure`` if the condition does not hold within a minute times ``patience``, the error of the
///   condition, or `CancellationError` if the task is cancelled.
public func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(limit)
  var isLast = false
  while try await !condition() {
    if isLast { throw TestFailure("not within \(limit) s: \(what)") }
    try await Task.sleep(for: .milliseconds(5))
    isLast = ContinuousClock.now >= end
  }
}

/// Blocks the thread until a condition holds, and looks every 5 ms: for functions that are not asynchronous.
/// - Parameters:
///   - what: what is awaited, for the error.
///   - condition: returns whether it has happened.
/// - Throws: ``TestFailure`` if the condition does not hold within a minute times ``patience``, or the error of the
///   condition.
public func blockUntil(_ what: String, _ condition: () throws -> Bool) throws {
  let end = ContinuousClock.now + .seconds(limit)
  var isLast = false
  while try !condition() {
    if isLast { throw TestFailure("not within \(limit) s: \(what)") }
    usleep(5_000)
    isLast = ContinuousClock.now >= end
  }
}

/// Waits until the task is cancelled, for a fake that never answers.
/// - Throws: `CancellationError`, always.
public func hang() async throws {
  while true { try await Task.sleep(for: .seconds(3_600)) }
}

/// Blocks the thread for a random time, to end a program at a random moment.
/// - Parameters:
///   - limit: the longest time.
///   - generator: the source of the randomness, such as a ``SeededGenerator``.
public func pause(upTo limit: Duration, using generator: inout some RandomNumberGenerator) {
  let time = limit * Double.random(in: 0...1, using: &generator)
  let microseconds: Double = time / .microseconds(1)
  usleep(UInt32(microseconds))
}

/// Suspends the task for a random time, and lets others use the thread meanwhile.
/// - Parameters:
///   - limit: the longest time.
///   - generator: the source of the randomness, such as a ``SeededGenerator``.
/// - Throws: `CancellationError` if the task is cancelled.
public func suspend(upTo limit: Duration, using generator: inout some RandomNumberGenerator) async throws {
  try await Task.sleep(for: limit * Double.random(in: 0...1, using: &generator))
}
