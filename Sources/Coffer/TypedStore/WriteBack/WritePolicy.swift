/// When the values that a ``TypedStore`` saves are committed to its store.
///
/// ```swift
/// let store = TypedStore(engine: engine, writePolicy: .back(window: .milliseconds(100)))
/// try await store.save(position, for: "position")   // returns from memory; every read of this store sees it
/// try await store.flush()                           // returns once it is committed
/// ```
public enum WritePolicy: Sendable {
  /// Before `save` returns. The default: nothing that was saved is only in memory.
  case through
  /// Soon after `save` has returned, in batches. Over an `SQLiteEngine`, what was saved is in a file beside the
  /// database, which the next opening commits if the process was killed (``TypedStore/PendingWrites/isLogged``). Values
  /// of encrypted keys are not, and nothing is over other engines: a killed process loses what was saved since the last
  /// window.
  ///
  /// The window is the time between a save and the commit of what is pending. It begins again for what was saved
  /// during a commit; after a commit that has failed it is at least a second. `maximumPendingBytes` limits the sum of
  /// the sizes of pending values and keys: a save beyond it waits for a flush, and throws if that fails; a batch that
  /// is larger by itself is committed before `save` returns. The clock measures the window.
  case back(
    window: Duration = .milliseconds(250), maximumPendingBytes: Int = 8 << 20,
    clock: any Clock<Duration> = ContinuousClock())
}

extension TypedStore {
  /// The writes of a store that are not committed yet.
  public struct PendingWrites: Sendable {
    /// The number of keys with a pending value or removal.
    public let count: Int
    /// The sum of the sizes of the pending values and keys, in bytes.
    public let bytes: Int
    /// The error of the last attempt to commit them; `nil` if there was none since a commit succeeded.
    public let failure: StorageError?
    /// Whether the writes survive a killed process. `false` before the first one, over engines without such a log, and
    /// if it could not be created, as on a full disk.
    public let isLogged: Bool

    package init(count: Int, bytes: Int, failure: StorageError?, isLogged: Bool = false) {
      self.count = count
      self.bytes = bytes
      self.failure = failure
      self.isLogged = isLogged
    }
  }
}
