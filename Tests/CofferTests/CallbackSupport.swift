import CofferCallbacks
import Testing

/// Waits for a completion. A second call of the completion crashes the tests.
func answer<Value: Sendable>(_ start: (@escaping (Value) -> Void) -> Void) async -> Value {
  await withCheckedContinuation { continuation in start { continuation.resume(returning: $0) } }
}

extension EngineKeyValueStorage {
  func stored(_ value: Bytes, _ key: String) async -> (any Error)? {
    await answer { store(value: value, for: key, finished: $0) }
  }

  /// Retrieves a value, and expects either a value or an error.
  func retrieved(_ key: String) async -> (value: Bytes?, error: (any Error)?) {
    let answer: (value: Bytes?, error: (any Error)?) = await answer { finished in
      retrieve(for: key) { finished(($0, $1)) }
    }
    #expect((answer.value != nil) != (answer.error != nil))
    return answer
  }

  func removed(_ key: String) async -> (any Error)? {
    await answer { remove(for: key, finished: $0) }
  }

  /// Returns whether the storage reports the value as missing.
  func missing(_ key: String) async -> Bool { (await retrieved(key).error as? StorageError)?.code == .notFound }
}

/// A gate that suspends tasks until it is opened.
final class Gate: Sendable {
  private let stream: AsyncStream<Never>
  private let continuation: AsyncStream<Never>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func open() { continuation.finish() }
  func pass() async { for await _ in stream {} }
}
