public import Dispatch
import Foundation

/// Callback storage over any engine, so that code without `await` shares a store with all the other doors.
///
/// ```swift
/// let engine = try await SQLiteEngine.open(at: path)
/// let storage = EngineKeyValueStorage(engine: engine)
/// storage.store(value: Bytes("dark".utf8), for: "theme") { error in }
/// storage.retrieve(for: "theme") { value, error in }  // sees what was stored the line above
/// ```
///
/// - **Order**: what is started for one key happens in the order in which it was started, and its completions come in
///   that order where the queue is serial. Operations on different keys run at once and end in any order.
/// - **Completions** run on ``queue``, exactly once, never inside the call that they belong to. What runs on a serial
///   queue and starts an operation there has ended before its completion begins.
/// - **Lifetime**: what was started is finished and answered, also when the storage is released meanwhile.
/// - **Errors** are `StorageError`. A missing key is `notFound`, and nothing else is; a key that is empty or longer
///   than 1,024 bytes is `invalidKey`.
///
/// A completion may touch what belongs to ``queue`` and what is `Sendable`, and nothing else: the compiler cannot check
/// it, since the document's closures are not `@Sendable`. On the main actor pass `queue: .main`, or use `await` with
/// ``KeyValueStorage/value(for:)`` and its siblings.
public final class EngineKeyValueStorage: KeyValueStorage, Sendable {
  /// The engine that keeps the bytes. Closing it ends the storage; the storage never closes it.
  public let engine: any StorageEngine
  /// Says which commits are this storage's own.
  public let origin: StoreOrigin
  /// Where completions are called.
  public let queue: DispatchQueue
  private let pipeline = KeyedPipeline()

  /// - Parameters:
  ///   - engine: where the bytes are kept.
  ///   - origin: the handle that the storage writes as; a fresh one unless given.
  ///   - queue: where completions are called. Unless given, a serial queue of this storage alone, so that no two of its
  ///     completions run at the same time. Not the main queue: a server need not run one.
  public init(
    engine: any StorageEngine, origin: StoreOrigin = StoreOrigin(),
    queue: DispatchQueue = DispatchQueue(label: "coffer.callbacks")
  ) {
    self.engine = engine
    self.origin = origin
    self.queue = queue
  }

  /// Stores a value, replacing what was there. It survives power loss, where the engine can promise that, before
  /// `finished` is called.
  ///
  /// On an error nothing was stored, except after `outcomeUnknown` and `unfinished`.
  public func store(value: Value, for key: String, finished: @escaping (_ error: (any Error)?) -> Void) {
    start(key, Completion { finished($0.error) }) { [engine, origin] key in
      try await engine.commit(WriteBatch([.put(key, Data(value))]), from: origin)
    }
  }

  /// Reads a value. A key without one is an error with the code `notFound`; every other error says nothing about what
  /// the store holds.
  public func retrieve(for key: String, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void) {
    start(key, Completion { finished($0.value, $0.error) }) { [engine] key in
      guard let entry = try await engine.entry(key) else { throw MissingValue() }
      return Bytes(entry.value)
    }
  }

  /// Removes a value. A missing one is no error: what was asked for holds.
  public func remove(for key: String, finished: @escaping (_ error: (any Error)?) -> Void) {
    start(key, Completion { finished($0.error) }) { [engine, origin] key in
      try await engine.commit(WriteBatch([.delete(key)]), from: origin)
    }
  }
}

extension EngineKeyValueStorage {
  /// Works after all that was started for the key before, then answers on the queue.
  private func start<R: Sendable>(
    _ name: String, _ completion: Completion<R>, work: @escaping @Sendable (StoreKey) async throws -> R
  ) {
    do {
      let key = try StoreKey(name)
      pipeline.add(key) { [engine, queue] in
        let result: Result<R, any Error>
        do { result = .success(try await work(key)) } catch { result = .failure(engine.explain(error, key)) }
        queue.async { completion.call(result) }
      }
    } catch {
      // There is no key to wait for.
      let result = Result<R, any Error>.failure(
        (error as? StorageError)?.locating(backend: engine.description) ?? error)
      queue.async { completion.call(result) }
    }
  }
}

/// The engine has answered: there is no value.
private struct MissingValue: Error {}

extension StorageEngine {
  /// An error as this door's users get it. `notFound` is kept for a missing key: what the engine calls so is a missing
  /// store, and that says nothing about the key.
  fileprivate func explain(_ error: any Error, _ key: StoreKey) -> any Error {
    switch error {
    case is MissingValue:
      StorageError(
        .notFound, "There is no value for this key.", advice: "Store one first, or go on without it.",
        backend: description, key: key)
    case let error as StorageError where error.code == .notFound:
      StorageError(
        .unavailable, error.message, advice: error.advice, backend: error.backend, key: error.key,
        underlying: error.underlying
      ).locating(backend: description, key: key)
    case let error as StorageError: error.locating(backend: description, key: key)
    default: error
    }
  }
}

/// A caller's closure on its way to the queue that calls it.
///
/// It is not `Sendable`, because the document's signature is not, and crosses threads all the same. That is safe as far
/// as this side goes: nobody touches it here before the one block on the queue, which takes it out, calls it once and
/// lets it go, so that what it has captured ends there too. The queue is stated, so the caller, who knows what the
/// closure touches, can choose the one where that belongs.
private final class Completion<R: Sendable>: @unchecked Sendable {
  private var closure: ((Result<R, any Error>) -> Void)?

  init(_ closure: @escaping (Result<R, any Error>) -> Void) { self.closure = closure }

  /// Only on the queue.
  func call(_ result: Result<R, any Error>) {
    let taken = closure
    closure = nil
    taken?(result)
  }
}

extension Result {
  fileprivate var value: Success? { try? get() }

  fileprivate var error: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
