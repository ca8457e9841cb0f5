/// When the values that a ``TypedStore`` saves are committed to its store.
public enum WritePolicy: Sendable {
  /// Before `save` returns. The default: nothing that was saved is only in memory.
  case through
  /// Soon after `save` has returned, in batches. Over an `SQLiteEngine`, what was saved is in a file beside the
  /// database, which the next opening commits if the process was killed (``PendingWrites/isLogged``). Values of
  /// encrypted keys are not, and nothing is over other engines: a killed process loses what was saved since the last
  /// window.
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
  /// The time between a save and the commit of what is pending. It begins again for what was saved during a commit.
  /// After a commit that has failed it is at least a second.
  public var window: Duration
  /// The maximum sum of the sizes of pending values and keys. A save beyond it waits for a flush, and throws if that
  /// fails; a batch that is larger by itself is committed before `save` returns.
  public var maximumPendingBytes: Int
  /// The clock that measures the window.
  public var clock: any Clock<Duration>

  /// Creates a policy.
  /// - Parameters:
  ///   - window: the time between a save and the commit of what is pending, 250 ms by default.
  ///   - maximumPendingBytes: the maximum sum of the sizes of pending values and keys, 8 MiB by default.
  ///   - clock: the clock that measures the window.
  public init(
    window: Duration = .milliseconds(250), maximumPendingBytes: Int = 8 << 20,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.window = window
    self.maximumPendingBytes = maximumPendingBytes
    self.clock = clock
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
  /// Whether the writes survive a killed process. `false` before the first one, over engines without such a log, and if
  /// it could not be created, as on a full disk.
  public let isLogged: Bool

  package init(count: Int, bytes: Int, failure: StorageError?, isLogged: Bool = false) {
    self.count = count
    self.bytes = bytes
    self.failure = failure
    self.isLogged = isLogged
  }
}
