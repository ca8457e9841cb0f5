import CofferCore

/// Asynchronous calls for every callback storage, including one that calls a completion twice or reports both a value
/// and an error.
///
/// ```swift
/// try await storage.store(Bytes("dark".utf8), for: "theme")
/// let theme = try await storage.retrieve(for: "theme")
/// ```
///
/// Only the first call of a completion counts. A completion that the storage releases without calling it is reported as
/// an error. One that the storage keeps and never calls cannot be detected: the task then waits forever.
///
/// An operation that has begun cannot be cancelled, since the protocol has no call for it.
extension KeyValueStorage {
  /// Stores a value, replacing any existing one.
  /// - Throws: the error that the storage reports; `CancellationError` when the task was cancelled before it began;
  ///   `StorageError` with code `outcomeUnknown` when the storage releases the completion without calling it.
  public func store(_ value: Value, for key: Key) async throws {
    try await answer(to: key, whenDropped: .outcomeUnknown) { answer in
      store(value: value, for: key) { @Sendable error in answer.give(error.map { .failure($0) } ?? .success(())) }
    }
  }

  /// Returns the value of a key. A missing value is the error that the storage reports: `StorageError` with code
  /// `notFound` from the storages of this package.
  /// - Throws: the error that the storage reports; `CancellationError` when the task was cancelled before it began.
  ///   `StorageError` with code `inputOutput` when the storage reports both a value and an error, or neither, or
  ///   releases the completion without calling it.
  public func retrieve(for key: Key) async throws -> Value {
    try await answer(to: key, whenDropped: .inputOutput) { answer in
      retrieve(for: key) { @Sendable value, error in
        answer.give(Result { try exactlyOne(of: value, error, key: key, from: Self.self) })
      }
    }
  }

  /// Removes the value of a key. Whether a missing value is an error depends on the storage; in those of this package
  /// it is not.
  /// - Throws: the error that the storage reports; `CancellationError` when the task was cancelled before it began;
  ///   `StorageError` with code `outcomeUnknown` when the storage releases the completion without calling it.
  public func remove(for key: Key) async throws {
    try await answer(to: key, whenDropped: .outcomeUnknown) { answer in
      remove(for: key) { @Sendable error in answer.give(error.map { .failure($0) } ?? .success(())) }
    }
  }

  /// Starts an operation and waits for the first call of its completion.
  private func answer<R: Sendable>(
    to key: Key, whenDropped code: StorageError.Code, _ start: (FirstAnswer<R>) -> Void
  ) async throws -> R {
    try Task.checkCancellation()
    let type: Any.Type = Self.self
    return try await withCheckedThrowingContinuation { continuation in
      let answer = FirstAnswer(continuation) {
        StorageError(
          code, "The storage released a completion without calling it.",
          advice: "It is unknown whether the operation took effect. Report this to the author of the storage.",
          location: storageName(type), key: try? KeyName(key))
      }
      start(answer)
    }
  }
}

/// The name of a callback storage in error messages.
func storageName(_ type: Any.Type) -> String { "callbacks:\(type)" }

/// Enforces the postcondition of `retrieve`, which a conformer may break: a value or an error, not both or neither.
private func exactlyOne(of value: Bytes?, _ error: (any Error)?, key: String, from type: Any.Type) throws -> Bytes {
  switch (value, error) {
  case (let value?, nil): return value
  case (nil, let error?): throw error
  case (_, let error):
    throw StorageError(
      .inputOutput, "The storage reported \(error == nil ? "neither a value nor" : "both a value and") an error.",
      advice: "It is unknown whether there is a value. Report this to the author of the storage.",
      location: storageName(type),
      key: try? KeyName(key),
      underlying: error.map {
        .init(domain: String(reflecting: Swift.type(of: $0)), code: 0, text: String(describing: $0))
      })
  }
}

/// Resumes a continuation with the first result. When the last closure that could provide one is released, `deinit`
/// resumes it with an error.
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
