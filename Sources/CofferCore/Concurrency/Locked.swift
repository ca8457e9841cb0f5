#if canImport(os)
  import os
#elseif COFFER_TSAN
  import Glibc
#else
  public import Synchronization
#endif

/// A value protected by a lock, which one thread at a time can access.
///
/// ```swift
/// let waiting = Locked<[Int]>([])
/// waiting.withLock { $0.append(7) }
/// let all = waiting.withLock { $0 }
/// ```
///
/// It wraps `OSAllocatedUnfairLock` on Apple's systems, since `Synchronization.Mutex` needs macOS 15 or iOS 18, and
/// `Synchronization.Mutex` elsewhere. Builds with `COFFER_TSAN` in the environment use a POSIX mutex: the thread
/// sanitizer does not recognise `Mutex` and would report every access as a race.
public final class Locked<Value>: Sendable {
  #if canImport(os)
    private let mutex: OSAllocatedUnfairLock<Value>
    /// Creates a lock that protects `value`.
    public init(_ value: sending Value) { mutex = OSAllocatedUnfairLock(uncheckedState: value) }
    /// Calls `body` with exclusive access to the value. `body` must neither block nor lock again.
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      let result = mutex.withLockUnchecked { value -> Result<R, E> in
        do throws(E) { return .success(try body(&value)) } catch { return .failure(error) }
      }
      return try result.get()
    }
    /// Calls `body` as ``withLock(_:)``, or returns `nil` at once if another thread has access.
    public func withLockIfAvailable<R, E: Error>(
      _ body: (inout Value) throws(E) -> sending R
    ) throws(E) -> sending R? {
      let result = mutex.withLockIfAvailableUnchecked { value -> Result<R, E> in
        do throws(E) { return .success(try body(&value)) } catch { return .failure(error) }
      }
      return try result?.get()
    }
  #elseif COFFER_TSAN
    // The sanitizer intercepts POSIX mutexes.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // Accessed only while the mutex is held. Allocated separately: a `()` stored inline would share the address of this
    // object, and every access to the object would be reported as a race with it.
    private nonisolated(unsafe) let value: UnsafeMutablePointer<Value>
    /// Creates a lock that protects `value`.
    public init(_ value: sending Value) {
      self.value = .allocate(capacity: 1)
      self.value.initialize(to: value)
      mutex = .allocate(capacity: 1)
      pthread_mutex_init(mutex, nil)
    }
    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
      value.deinitialize(count: 1)
      value.deallocate()
    }
    /// Calls `body` with exclusive access to the value. `body` must neither block nor lock again.
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
    /// Calls `body` as ``withLock(_:)``, or returns `nil` at once if another thread has access.
    public func withLockIfAvailable<R, E: Error>(
      _ body: (inout Value) throws(E) -> sending R
    ) throws(E) -> sending R? {
      guard pthread_mutex_trylock(mutex) == 0 else { return nil }
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  #else
    // Specialized for its callers, but not inlined: an asynchronous function would keep the address of the thread's id,
    // which `Mutex` compares with its owner, over a suspension, and lock as a thread that it has left. Public, since a
    // `package` declaration is never specialized in another module: each lock would look metadata up, in 30 to 80 ns.
    @usableFromInline let mutex: Mutex<Value>
    /// Creates a lock that protects `value`.
    @inlinable public init(_ value: sending Value) { mutex = Mutex(value) }
    /// Calls `body` with exclusive access to the value. `body` must neither block nor lock again.
    @inlinable @inline(never) public func withLock<R, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
      try mutex.withLock(body)
    }
    /// Calls `body` as ``withLock(_:)`` with an argument: a closure that captures it would count a reference to it.
    @inlinable @inline(never) public func withLock<Argument: Sendable, R, E: Error>(
      passing argument: Argument, _ body: (inout sending Value, Argument) throws(E) -> sending R
    ) throws(E) -> sending R {
      try mutex.withLock { (value) throws(E) in try body(&value, argument) }
    }
    /// Calls `body` as ``withLock(_:)``, or returns `nil` at once if another thread has access.
    @inlinable @inline(never) public func withLockIfAvailable<R, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R? {
      try mutex.withLockIfAvailable(body)
    }
  #endif
}

#if canImport(os) || COFFER_TSAN
  extension Locked {
    /// Calls `body` as ``withLock(_:)`` with an argument.
    public func withLock<Argument: Sendable, R, E: Error>(
      passing argument: Argument, _ body: (inout Value, Argument) throws(E) -> sending R
    ) throws(E) -> sending R {
      try withLock { (value) throws(E) in try body(&value, argument) }
    }
  }
#endif
