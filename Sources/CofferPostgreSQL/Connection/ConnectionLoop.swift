import CofferCPostgreSQL
import CofferCore
import Glibc

/// The thread on which libpq is called for all connections of the process.
///
/// It waits for the sockets and for work, and ends when the last connection has ended. What callers hand over while it
/// works is taken in one go, without waking it again.
final class ConnectionLoop: Sendable {
  /// The loop that the connections of a process share.
  static let shared = ConnectionLoop()

  /// What callers hand over to the thread.
  typealias Work = @Sendable (LoopThread) -> Void

  private struct State {
    var inbox: [Work] = []
    /// The thread, if there is one.
    var sign: Int32?
    var isWaiting = false
  }

  private let state = Locked(State())
  /// The number of exchanges under way on all connections.
  private let underWay = Locked(0)
  /// Whether there is a thread for other tasks while one awaits an answer.
  private static let hasThreads = sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1

  func beginExchange() { underWay.withLock { $0 += 1 } }
  func endExchange() { underWay.withLock { $0 -= 1 } }

  /// Whether a caller's thread may await the answer to its exchange: nothing else is under way, so that one thread at
  /// most does.
  var mayAwait: Bool { Self.hasThreads && underWay.withLock { $0 } == 1 }

  /// Runs work on the thread, which is started if there is none.
  /// - Returns: `false` if the system has no thread or no descriptor left; the work is dropped.
  @discardableResult
  func perform(_ work: @escaping Work) -> Bool {
    state.withLock { state in
      if let sign = state.sign {
        state.inbox.append(work)
        // The call does not block. The thread closes the descriptor under the same lock.
        if state.isWaiting { coffer_pq_raise(sign) }
        state.isWaiting = false
        return true
      }
      guard let thread = LoopThread(self) else { return false }
      guard thread.start() else { return false }
      state.sign = thread.sign
      state.inbox.append(work)
      return true
    }
  }

  /// Makes the thread look at deadlines again.
  func wake() {
    state.withLock { state in
      if state.isWaiting, let sign = state.sign { coffer_pq_raise(sign) }
      state.isWaiting = false
    }
  }

  /// Exchanges the work that has arrived for an empty array. Without any, the thread is noted as waiting.
  fileprivate func take(into work: inout [Work]) {
    work.removeAll(keepingCapacity: true)
    state.withLock { state in
      swap(&state.inbox, &work)
      state.isWaiting = work.isEmpty
    }
  }

  /// Whether there is a thread, for tests.
  var isRunning: Bool { state.withLock { $0.sign != nil } }

  fileprivate func noteWorking() { state.withLock { $0.isWaiting = false } }

  /// Ends the thread unless work has arrived. Returns whether it ended.
  fileprivate func end(_ thread: LoopThread) -> Bool {
    state.withLock { state in
      guard state.inbox.isEmpty else { return false }
      state.sign = nil
      state.isWaiting = false
      thread.close()
      return true
    }
  }
}

/// Something that waits for a socket, on the thread of a loop.
protocol LoopSource: AnyObject {
  /// When ``expire(at:)`` is due; `nil` for never.
  var deadline: ContinuousClock.Instant? { get }
  /// Handles that the socket is readable (``coffer_pq_readable``), writable, or both.
  func proceed(_ ready: Int32)
  func expire(at now: ContinuousClock.Instant)
}

/// The thread of a loop, with what waits on it.
// Sendable: it is used on its own thread only, apart from constants, ``noteDeadline(_:)`` and ``watch``, which other
// threads call for a source that it has.
final class LoopThread: @unchecked Sendable {
  let loop: ConnectionLoop
  private let poll: Int32
  fileprivate let sign: Int32
  private var sources: [UInt64: any LoopSource] = [:]
  private var lastID: UInt64 = 0
  /// A time before which no source is due.
  private let earliest = Locked<ContinuousClock.Instant?>(nil)

  fileprivate init?(_ loop: ConnectionLoop) {
    (poll, sign) = (coffer_pq_make_poll(), coffer_pq_make_sign())
    self.loop = loop
    guard poll >= 0, sign >= 0, coffer_pq_watch(poll, sign, 0, coffer_pq_readable, 1) == 0 else {
      close()
      return nil
    }
  }

  fileprivate func start() -> Bool {
    let context = Unmanaged.passRetained(self)
    let result = coffer_pq_start_thread(
      { context in
        if let context { Unmanaged<LoopThread>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, context.toOpaque())
    guard result != 0 else { return true }
    context.release()
    close()
    return false
  }

  fileprivate func close() {
    if poll >= 0 { Glibc.close(poll) }
    if sign >= 0 { Glibc.close(sign) }
  }

  // MARK: Sources

  /// Adds a source and returns its number.
  func add(_ source: any LoopSource) -> UInt64 {
    lastID += 1
    sources[lastID] = source
    noteDeadline(source.deadline)
    return lastID
  }

  /// Removes a source. Its socket must still be open, if it is watched.
  func remove(_ id: UInt64, socket: Int32) {
    sources[id] = nil
    ignore(socket)
  }

  /// Makes sure that the thread looks at its sources when a deadline has passed.
  /// - Returns: whether it is earlier than all before it, so that the thread must be woken if this is another one.
  @discardableResult
  func noteDeadline(_ deadline: ContinuousClock.Instant?) -> Bool {
    guard let deadline else { return false }
    return earliest.withLock { earliest in
      if let known = earliest, known <= deadline { return false }
      earliest = deadline
      return true
    }
  }

  /// Watches a socket for a source: at least for the end of its connection.
  func watch(_ socket: Int32, for id: UInt64, writable: Bool, readable: Bool = true, isNew: Bool) -> Bool {
    let interest =
      (readable ? coffer_pq_readable : coffer_pq_ended) | (writable ? coffer_pq_writable : 0)
    return coffer_pq_watch(poll, socket, id, interest, isNew ? 1 : 0) == 0
  }

  func ignore(_ socket: Int32) {
    if socket >= 0 { coffer_pq_ignore(poll, socket) }
  }

  // MARK: The loop

  private func run() {
    coffer_pq_name_thread("coffer.pgsql")
    var work: [ConnectionLoop.Work] = []
    var ids = [UInt64](repeating: 0, count: 32)
    var ready = [Int32](repeating: 0, count: 32)
    while true {
      loop.take(into: &work)
      for each in work { each(self) }
      let mayWait = work.isEmpty
      if mayWait, sources.isEmpty, loop.end(self) { return }
      let count = coffer_pq_wait(poll, &ids, &ready, Int32(ids.count), mayWait ? timeout() : 0)
      if mayWait { loop.noteWorking() }
      for index in 0..<Int(count) {
        if ids[index] == 0 { coffer_pq_lower(sign) } else { sources[ids[index]]?.proceed(ready[index]) }
      }
      expire()
    }
  }

  /// The milliseconds until a source may be due; -1 for none.
  private func timeout() -> Int32 {
    guard let earliest = earliest.withLock({ $0 }) else { return -1 }
    let left = (earliest - .now) / .milliseconds(1)
    return Int32(max(0, min(left.rounded(.up), 3_600_000)))
  }

  private func expire() {
    guard let due = earliest.withLock({ $0 }) else { return }
    let now = ContinuousClock.now
    guard due <= now else { return }
    // Deadlines of exchanges that were answered meanwhile are found here only.
    earliest.withLock { $0 = nil }
    for source in Array(sources.values) {
      if let deadline = source.deadline, deadline <= now { source.expire(at: now) }
    }
    for source in sources.values { noteDeadline(source.deadline) }
  }
}
