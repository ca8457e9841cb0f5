#if canImport(os)
  import os
#elseif COFFER_TSAN
  import Glibc
#else
  public import Synchronization
#endif

/// A value that one thread at a time can touch.
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
    /// A lock with a value in it.
    public init(_ value: sending Value) { mutex = OSAllocatedUnfairLock(uncheckedState: value) }
    /// Runs a closure with the value while no other thread can touch it. It must not wait, nor lock again.
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      let result = mutex.withLockUnchecked { value -> Result<R, E> in
        do throws(E) { return .success(try body(&value)) } catch { return .failure(error) }
      }
      return try result.get()
    }
  #elseif COFFER_TSAN
    // The sanitizer knows this one.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // Touched only while the mutex is held. In memory of its own: `()` would have the address of this object, and each
    // look at the object would be a race with it.
    private nonisolated(unsafe) let value: UnsafeMutablePointer<Value>
    /// A lock with a value in it.
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
    /// Runs a closure with the value while no other thread can touch it. It must not wait, nor lock again.
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  #else
    @usableFromInline let mutex: Mutex<Value>
    /// A lock with a value in it.
    @inlinable public init(_ value: sending Value) { mutex = Mutex(value) }
    /// Runs a closure with the value while no other thread can touch it. It must not wait, nor lock again.
    @inlinable public func withLock<R, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
      try mutex.withLock(body)
    }
  #endif
}
