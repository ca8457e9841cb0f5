#if canImport(os)
  import os
#else
  import Synchronization
#endif

/// A value that one thread at a time can touch.
///
/// `Synchronization.Mutex` needs newer Apple systems than this package does, so it is wrapped here, once.
package final class Locked<Value>: Sendable {
  #if canImport(os)
    private let mutex: OSAllocatedUnfairLock<Value>
    package init(_ value: sending Value) { mutex = OSAllocatedUnfairLock(uncheckedState: value) }
    package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
      let result = mutex.withLockUnchecked { value -> Result<R, E> in
        do throws(E) { return .success(try body(&value)) } catch { return .failure(error) }
      }
      return try result.get()
    }
  #else
    private let mutex: Mutex<Value>
    package init(_ value: sending Value) { mutex = Mutex(value) }
    package func withLock<R, E: Error>(_ body: (inout sending Value) throws(E) -> sending R) throws(E) -> sending R {
      try mutex.withLock(body)
    }
  #endif
}
