/// When the values that a ``TypedStore`` saves are committed to its store.
public enum WritePolicy: Sendable {
  /// Before `save` returns. The default: nothing that was saved is only in memory.
  case through
  /// Soon after `save` has returned, in batches. A killed process loses what was saved since the last window ended.
  case back(WriteBackPolicy)

  /// Write-back with the default window and limit.
  public static var back: WritePolicy { .back(WriteBackPolicy()) }
}

/// The limits of a store that commits after `save` has returned.
///
/// ```swift
/// let store = TypedStore(engine: engine, writePolicy: .back(WriteBackPolicy(window: .milliseconds(100))))
/// try await store.save(position, for: "position")   // returns from memory; every read of this store sees it
/// try await store.flush()                           // returns once it is committed
/// ```
public struct WriteBackPolicy: Sendable {
  /// The longest time between a save and the beginning of its commit.
  public var window: Duration
  /// The maximum sum of the sizes of pending values and keys. A save beyond it first flushes, and a batch that is
  /// larger by itself is committed before `save` returns.
  ///
  /// Values that the store has refused are limited separately, so that the sum is at most twice this number. While
  /// there are more of them, other saves are committed before they return.
  public var maximumPendingBytes: Int
  /// The timer that ends the windows, one for all stores.
  public var scheduler: FlushScheduler

  /// Creates a policy.
  /// - Parameters:
  ///   - window: the longest time between a save and the beginning of its commit, 250 ms by default.
  ///   - maximumPendingBytes: the maximum sum of the sizes of pending values and keys, 8 MiB by default.
  ///   - scheduler: the timer that ends the windows; tests create one with their own clock.
  public init(
    window: Duration = .milliseconds(250), maximumPendingBytes: Int = 8 << 20, scheduler: FlushScheduler = .shared
  ) {
    self.window = window
    self.maximumPendingBytes = maximumPendingBytes
    self.scheduler = scheduler
  }
}

/// The writes of a store that are not committed yet.
public struct PendingWrites: Sendable {
  /// The number of keys with a pending value or removal.
  public let count: Int
  /// The sum of the sizes of the pending values and keys, in bytes.
  public let bytes: Int
  /// The error of the last attempt to commit them; `nil` if there was none since a commit succeeded.
  public let failure: StorageError?
}
