import Coffer
public import Dispatch
import Foundation

/// Callback storage over any engine, so that code without `await` shares a store with the other APIs.
///
/// ```swift
/// let engine = try await SQLiteEngine.open(at: path)
/// let storage = EngineKeyValueStorage(engine: engine)
/// storage.store(value: Bytes("dark".utf8), for: "theme") { error in }
/// storage.retrieve(for: "theme") { value, error in }  // sees what was stored the line above
/// ```
///
/// - **Order**: operations on one key are carried out in the order in which they were started, and on a serial queue
///   their completions run in that order. Operations on different keys run concurrently and end in any order.
/// - **Completions** run on ``queue``, exactly once, never inside the call that they belong to. A block on a serial
///   queue that starts an operation returns before the completion of that operation begins.
/// - **Lifetime**: operations that were started are completed even if the storage is released meanwhile.
/// - **Errors** are `StorageError`. The code `notFound` means a missing key and nothing else; a key that is empty or
///   longer than 1,024 bytes is `invalidKey`.
///
/// A completion may access only `Sendable` values and state that belongs to ``queue``. The compiler cannot check this,
/// since the closures of the protocol are not `@Sendable`. On the main actor pass `queue: .main`, or use `await` with
/// ``KeyValueStorage/retrieve(for:)`` and its siblings.
public final class EngineKeyValueStorage: KeyValueStorage, Sendable {
  /// The engine that stores the bytes. After it is closed every operation fails; the storage never closes it.
  public let engine: any StorageEngine
  /// The origin that marks this storage's own commits.
  public let origin: StoreOrigin
  /// The queue on which completions are called.
  public let queue: DispatchQueue
  private let pipeline = KeyedPipeline()

  /// Creates a callback storage.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - origin: the origin of the storage's commits; a new one by default.
  ///   - queue: the queue on which completions are called. By default a serial queue of this storage, so that no two of
  ///     its completions run at the same time; not the main queue, which a server need not run.
  public init(
    engine: any StorageEngine, origin: StoreOrigin = StoreOrigin(),
    queue: DispatchQueue = DispatchQueue(label: "coffer.callbacks")
  ) {
    self.engine = engine
    self.origin = origin
    self.queue = queue
  }

  /// Stores a value, replacing any existing one. When `finished` is called the value survives power loss, where the
  /// engine can promise that.
  ///
  /// After an error nothing was stored, unless its code is `outcomeUnknown` or `unfinished`.
  public func store(value: Value, for key: String, finished: @escaping (_ error: (any Error)?) -> Void) {
    start(key, Completion { finished($0.error) }) { [engine, origin] key in
      try await engine.commit(WriteBatch([.put(key, Data(value))]), from: origin)
    }
  }

  /// Reads the value of a key. A missing value is reported as an error with the code `notFound`; after any other error
  /// it is unknown whether there is a value.
  public func retrieve(for key: String, finished: @escaping (_ value: Value?, _ error: (any Error)?) -> Void) {
    start(key, Completion { finished($0.value, $0.error) }) { [engine] key in
      guard let entry = try await engine.entry(key)?.requiringPlain(at: engine.description) else {
        throw MissingValue()
      }
      return Bytes(entry.value)
    }
  }

  /// Removes the value of a key. Removing a missing value succeeds.
  public func remove(for key: String, finished: @escaping (_ error: (any Error)?) -> Void) {
    start(key, Completion { finished($0.error) }) { [engine, origin] key in
      try await engine.commit(WriteBatch([.delete(key)]), from: origin)
    }
  }
}

extension EngineKeyValueStorage {
  /// Reads the value of a key with its revision, for ``storeIfUnchanged(value:for:since:finished:)``. A missing value
  /// is no error here: its value and revision are `nil`.
  public func retrieveVersioned(
    for key: String, finished: @escaping (_ value: Versioned<Bytes>?, _ error: (any Error)?) -> Void
  ) {
    start(key, Completion { finished($0.value, $0.error) }) { [engine] key in
      let entry = try await engine.versionedEntry(key)?.requiringPlain(at: engine.description)
      return Versioned(entry.map { Bytes($0.value) }, revision: entry?.revision)
    }
  }

  /// Stores a value unless another writer has changed it since it was read.
  ///
  /// The error has the code `preconditionFailed` when it was changed. After an error nothing was stored, unless its
  /// code is `outcomeUnknown` or `unfinished`.
  /// - Parameters:
  ///   - value: the bytes.
  ///   - key: the name of the value.
  ///   - revision: the revision at which the value was read; `nil` if it was absent.
  ///   - finished: called once with the new revision, or with the error.
  public func storeIfUnchanged(
    value: Value, for key: String, since revision: StoreRevision?,
    finished: @escaping (_ revision: StoreRevision?, _ error: (any Error)?) -> Void
  ) {
    start(key, Completion { finished($0.value, $0.error) }) { [engine, origin] key in
      let batch = WriteBatch([.require(key, revision), .put(key, Data(value))])
      return try await engine.commit(try engine.checkingConditions(batch), from: origin).revision
    }
  }

  /// Runs `work` after all earlier operations on the key, then calls the completion on the queue.
  private func start<R: Sendable>(
    _ name: String, _ completion: Completion<R>, work: @escaping @Sendable (KeyName) async throws -> R
  ) {
    do {
      let key = try KeyName(name)
      pipeline.add(key) { [engine, queue] in
        let result: Result<R, any Error>
        do { result = .success(try await work(key)) } catch { result = .failure(engine.explain(error, key)) }
        queue.async { completion.call(result) }
      }
    } catch {
      // Without a valid key there is no earlier operation to wait for.
      let result = Result<R, any Error>.failure(
        (error as? StorageError)?.locating(at: engine.description) ?? error)
      queue.async { completion.call(result) }
    }
  }
}

/// Thrown when the engine reports that the key has no value.
private struct MissingValue: Error {}

extension StorageEngine {
  /// Translates an error for callers of the storage. `notFound` is reserved for a missing key; the engine's own
  /// `notFound` means a missing store and becomes `unavailable`.
  fileprivate func explain(_ error: any Error, _ key: KeyName) -> any Error {
    switch error {
    case is MissingValue:
      StorageError(
        .notFound, "There is no value for this key.", advice: "Store one first, or continue without it.",
        location: description, key: key)
    case let error as StorageError where error.code == .notFound:
      StorageError(
        .unavailable, error.message, advice: error.advice, location: error.location, key: error.key,
        underlying: error.underlying
      ).locating(at: description, key: key)
    case let error as StorageError: error.locating(at: description, key: key)
    default: error
    }
  }
}

/// A caller's closure in transit to the queue that calls it.
///
/// The closure is not `Sendable`, because the protocol's signature is not, and still crosses threads. This type
/// accesses it only in the one block on the queue, which takes it, calls it once and releases it, so that its captures
/// are released there too. The queue is documented so that the caller can choose the one that the captured state
/// belongs to.
private final class Completion<R: Sendable>: @unchecked Sendable {
  private var closure: ((Result<R, any Error>) -> Void)?

  init(_ closure: @escaping (Result<R, any Error>) -> Void) { self.closure = closure }

  /// Calls the closure once. Must be called on the queue.
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
