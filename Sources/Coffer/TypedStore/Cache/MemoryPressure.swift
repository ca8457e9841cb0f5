import CofferCore
import Foundation

/// A source of reports that memory is low, which empty the caches that observe it.
///
/// ``system`` is the kernel's own measure. An application that has another one creates a source and calls ``report()``:
///
/// ```swift
/// let pressure = MemoryPressure()
/// let store = TypedStore(engine: engine, cache: CachePolicy(memoryPressure: pressure))
/// pressure.report()      // the cached values are dropped; the stored and the pending ones stay
/// ```
public final class MemoryPressure: Sendable {
  private struct Observer: Sendable {
    weak let cache: DecodedCache?
  }

  private let observers = Locked<[Observer]>([])

  /// Creates a source that reports only when ``report()`` is called.
  public init() {}

  /// The memory pressure of the system: the cgroup of the process where it can be observed, else the whole machine.
  ///
  /// On Linux it is a trigger of the pressure stall information (`memory.pressure`, `/proc/pressure/memory`): tasks
  /// were stalled on memory for 150 ms within 2 s. One thread sleeps in the kernel until then, from the first use of
  /// this property on. Where the kernel has no such file or refuses the trigger, nothing is ever reported.
  public static let system: MemoryPressure = {
    let pressure = MemoryPressure()
    if let trigger = PressureTrigger.open() { trigger.watch { pressure.report() } }
    return pressure
  }()

  /// Empties the caches that observe this source.
  public func report() {
    let caches = observers.withLock { $0.compactMap(\.cache) }
    for cache in caches { cache.removeAll() }
  }

  func add(_ cache: DecodedCache) {
    observers.withLock { observers in
      // The entries of caches that no longer exist are removed before the list grows.
      if observers.count == observers.capacity { observers.removeAll { $0.cache == nil } }
      observers.append(Observer(cache: cache))
    }
  }
}

/// A trigger of the kernel's pressure stall information (`Documentation/accounting/psi.rst`).
struct PressureTrigger: Sendable {
  private let descriptor: Int32

  /// Returns a trigger for the first file that accepts one; `nil` if none does.
  static func open(_ paths: [String] = PressureTrigger.paths) -> PressureTrigger? {
    for path in paths {
      let descriptor = Foundation.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else { continue }
      // An unprivileged process may only use windows of whole multiples of 2 s.
      let request = Array("some 150000 2000000".utf8) + [0]
      if write(descriptor, request, request.count) == request.count { return PressureTrigger(descriptor: descriptor) }
      Foundation.close(descriptor)
    }
    return nil
  }

  static var paths: [String] {
    let groups = (try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) ?? ""
    let own = groups.split(separator: "\n").first { $0.hasPrefix("0::/") }.map { $0.dropFirst(3) }
    return (own.map { ["/sys/fs/cgroup\($0)/memory.pressure"] } ?? []) + ["/proc/pressure/memory"]
  }

  /// Calls `report` on a thread of its own each time the trigger fires.
  func watch(_ report: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
      while wait(-1) { report() }
      close()
    }
  }

  /// Waits until the trigger fires. Returns `false` after the limit, or when the file no longer exists.
  /// - Parameter limit: the limit in milliseconds; -1 for none.
  func wait(_ limit: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
    var result: Int32
    repeat { result = poll(&request, 1, limit) } while result < 0 && errno == EINTR
    return result > 0 && request.revents & Int16(POLLERR) == 0 && request.revents & Int16(POLLPRI) != 0
  }

  func close() { Foundation.close(descriptor) }
}
