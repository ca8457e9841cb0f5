#if canImport(os)
  import os
#elseif COFFER_TSAN
  import Glibc
#else
  public import Synchronization
#endif

/// A value that one thread at a time can touch.
///
/// `Synchronization.Mutex` needs newer Apple systems than this package does, so it is wrapped here, once. A generic
/// call across modules costs more than the lock, and what is `package` is never inlined into another module,
/// `@inlinable` or not: hence a module that no product offers, in which it can be public.
public final class Locked<Value>: Sendable {
  #if canImport(os)
    private let mutex: OSAllocatedUnfairLock<Value>
    public init(_ value: sending Value) { mutex = OSAllocatedUnfairLock(uncheckedState: value) }
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      let result = mutex.withLockUnchecked { value -> Result<R, E> in
        do throws(E) { return .success(try body(&value)) } catch { return .failure(error) }
      }
      return try result.get()
    }
  #elseif COFFER_TSAN
    // ThreadSanitizer does not see into Synchronization's mutex and calls every access a race; it knows this one.
    private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private nonisolated(unsafe) var value: Value  // touched only while the mutex is held
    public init(_ value: sending Value) {
      self.value = value
      mutex = .allocate(capacity: 1)
      pthread_mutex_init(mutex, nil)
    }
    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value)
    }
  #else
    @usableFromInline let mutex: Mutex<Value>
    @inlinable public init(_ value: sending Value) { mutex = Mutex(value) }
    @inlinable public func withLock<R, E: Error>(
      _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
      try mutex.withLock(body)
    }
  #endif
}
