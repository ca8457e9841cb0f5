import Foundation

/// A decorator that refuses every commit, for code that may read a store and not write it.
///
/// ```swift
/// let engine = try await SQLiteEngine.open(at: path)
/// let report = Report(reading: ReadOnlyEngine(engine))  // the application itself writes through `engine`
/// ```
///
/// It protects from mistakes, not from intent: `as(_:)` returns the engine behind it. To open a store without changing
/// its files, use ``StoreAccess/readOnly`` instead.
public final class ReadOnlyEngine: EngineDecorator {
  public let base: any StorageEngine
  public let capabilities: StoreCapabilities
  public var isReadOnly: Bool { true }

  /// Creates a decorator that reads from `base`.
  public init(_ base: any StorageEngine) {
    self.base = base
    let promised = base.capabilities
    capabilities = StoreCapabilities(
      promised.features.subtracting(.promisedByWriters), maximumValueSize: promised.maximumValueSize)
  }

  private var refusal: StorageError { .readOnly(because: StorageError.readOnlyRequest, location: description) }

  /// Throws ``StorageError/Code-swift.struct/readOnly``.
  public func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit { throw refusal }

  /// Does nothing, since nothing was written.
  public func flush() async throws {}
}

extension ReadOnlyEngine: SynchronousEngine {
  package func requireSynchronousUse() throws {
    guard let base = base as? any SynchronousEngine else {
      throw StorageError.unsupported(
        "reads that do not suspend", advice: "Use reads that suspend.", location: description)
    }
    try base.requireSynchronousUse()
  }

  package func entryNow(_ key: KeyName) throws -> StoreEntry? {
    try requireSynchronousUse()
    return try (base as? any SynchronousEngine)?.entryNow(key)
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    completion(.failure(refusal))
  }
}

extension StoreCapabilities.Features {
  /// The guarantees about commits, which a store that is open for reading only does not make.
  package static let promisedByWriters: Self = [.atomicBatches, .preconditions, .powerLossSafety]
}

extension StorageError {
  /// The reason of ``readOnly(because:location:)`` for a store that was opened for reading only on purpose.
  package static let readOnlyRequest = "read-only access was requested."

  /// Returns the error for a write to a store that is open for reading only.
  /// - Parameter reason: why it is, as the end of a sentence.
  package static func readOnly(because reason: String, location: String) -> StorageError {
    let advice =
      reason == readOnlyRequest
      ? "Reopen it with write access." : "Open it as a user who may write it, where that is possible."
    return StorageError(
      .readOnly, "The store is open for reading only: \(reason)", advice: "Nothing was written. \(advice)",
      location: location)
  }
}
