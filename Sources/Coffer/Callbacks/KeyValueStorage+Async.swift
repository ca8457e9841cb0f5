import CofferLocks

/// Any callback storage with `async` calls, also one that calls a completion twice or contradicts itself.
///
/// ```swift
/// try await storage.store(Bytes("dark".utf8), for: "theme")
/// let theme = try await storage.value(for: "theme")
/// ```
///
/// A completion that is called again is ignored after the first time; one that the storage lets go of without a call
/// becomes an error. One that it keeps and never calls cannot be helped: the task waits for ever.
///
/// An operation that has begun cannot be cancelled, since the protocol has no call for that.
extension KeyValueStorage {
  /// Stores a value, replacing what was there.
  /// - Throws: what the storage reports; `CancellationError` when the task was cancelled before it began;
  ///   `StorageError` with code `outcomeUnknown` when the storage never answers.
  public func store(_ value: Value, for key: Key) async throws {
    try await answer(to: key, whenDropped: .outcomeUnknown) { answer in
      store(value: value, for: key) { @Sendable error in answer.give(error.map { .failure($0) } ?? .success(())) }
    }
  }

  /// The value of a key. A missing one is an error, as the storage reports it: `StorageError` with code `notFound` from
  /// the storages of this package.
  /// - Throws: what the storage reports; `CancellationError` when the task was cancelled before it began;
  ///   `StorageError` with code `inputOutput` when the storage gives both a value and an error, or neither, or never
  ///   answers.
  public func value(for key: Key) async throws -> Value {
    try await answer(to: key, whenDropped: .inputOutput) { answer in
      retrieve(for: key) { @Sendable value, error in
        answer.give(Result { try exactlyOne(of: value, error, key: key, from: Self.self) })
      }
    }
  }

  /// Removes a value. Whether a missing one is an error is the storage's to say; those of this package succeed.
  /// - Throws: what the storage reports; `CancellationError` when the task was cancelled before it began;
  ///   `StorageError` with code `outcomeUnknown` when the storage never answers.
  public func remove(for key: Key) async throws {
    try await answer(to: key, whenDropped: .outcomeUnknown) { answer in
      remove(for: key) { @Sendable error in answer.give(error.map { .failure($0) } ?? .success(())) }
    }
  }

  /// Starts an operation and waits for its first answer.
  private func answer<R: Sendable>(
    to key: Key, whenDropped code: StorageError.Code, _ start: (FirstAnswer<R>) -> Void
  ) async throws -> R {
    try Task.checkCancellation()
    let type: Any.Type = Self.self
    return try await withCheckedThrowingContinuation { continuation in
      let answer = FirstAnswer(continuation) {
        StorageError(
          code, "The storage let go of a completion without calling it.",
          advice: "Whether the operation happened is not known. Tell those who wrote the storage.",
          backend: storageName(type), key: try? StoreKey(key))
      }
      start(answer)
    }
  }
}

/// How messages call a callback storage.
func storageName(_ type: Any.Type) -> String { "callbacks:\(type)" }

/// The document's postcondition, which a conformer may break.
private func exactlyOne(of value: Bytes?, _ error: (any Error)?, key: String, from type: Any.Type) throws -> Bytes {
  switch (value, error) {
  case (let value?, nil): return value
  case (nil, let error?): throw error
  case (_, let error):
    throw StorageError(
      .inputOutput, "The storage answered with \(error == nil ? "neither a value nor" : "both a value and") an error.",
      advice: "Nothing is known about the value. Tell those who wrote the storage.", backend: storageName(type),
      key: try? StoreKey(key),
      underlying: error.map {
        .init(domain: String(reflecting: Swift.type(of: $0)), code: 0, text: String(describing: $0))
      })
  }
}

/// Hands the first answer to whoever waits for it. It goes away with the last closure that could answer, and then
/// answers by itself.
private final class FirstAnswer<R: Sendable>: Sendable {
  private let waiting: Locked<CheckedContinuation<R, any Error>?>
  private let otherwise: @Sendable () -> StorageError

  init(_ continuation: CheckedContinuation<R, any Error>, otherwise: @escaping @Sendable () -> StorageError) {
    waiting = Locked(continuation)
    self.otherwise = otherwise
  }

  deinit {
    waiting.withLock { $0.take() }?.resume(throwing: otherwise())
  }

  func give(_ answer: Result<R, any Error>) {
    waiting.withLock { $0.take() }?.resume(with: answer)
  }
}
