import CofferCore
import Dispatch

/// A pool of read connections, lent in two ways that never wait for each other.
///
/// - ``read(_:)`` lends one for a single synchronous read. The borrower cannot suspend, so it finishes without waiting;
///   further callers block briefly while all of these readers are in use.
/// - ``withReader(_:)`` lends one while an asynchronous closure runs. Beyond the limit callers suspend in a first-in,
///   first-out queue; a cancelled task leaves the queue with `CancellationError`.
///
/// A reader that is not lent holds no transaction, so that none keeps the log from restarting.
///
/// A borrower may borrow another reader, of this pool or of another store's. Nested loans wait in a separate queue for
/// each depth, and so never for a loan of their own depth or above. At the deepest depth with waiters, no borrower is
/// waiting for a reader; so some loan always ends, and every queue advances. This covers the closure's task and
/// those that it starts, but not detached ones: a closure must not wait for an unrelated task that waits for a reader.
final class ReaderPool: Sendable {
  fileprivate static let idleLimit = 4
  /// The maximum number of loans at each depth: a reader uses several file descriptors, often limited to 1,024.
  private static let limits = [64, 16, 8]
  private static let deepLimit = 4
  /// The maximum number of concurrent single reads; processes rarely have as many threads.
  fileprivate static let singleLimit = 64

  /// The number of loans that the current task runs inside of.
  @TaskLocal static var depth = 0

  fileprivate struct Line {
    var lent = 0
    /// Resumed with an idle reader, or with `nil` for permission to open one.
    var waiting = FairQueue<Reader?>()
  }

  fileprivate struct State {
    var idle: [Reader] = []
    /// The single reads under way, and the threads that wait for the end of one.
    var singles = 0
    var waitingSingles = 0
    var lines: [Line] = []
    var refusal: StorageError?
  }

  private let state: Locked<State>
  private let singleEnded = DispatchSemaphore(value: 0)
  private let makeReader: @Sendable () throws -> Reader

  /// - Parameter first: a reader that is open already.
  init(first: Reader? = nil, makeReader: @escaping @Sendable () throws -> Reader) {
    state = Locked(State(idle: first.map { [$0] } ?? []))
    self.makeReader = makeReader
  }

  // MARK: Single reads

  /// Performs a read on the caller's thread, which is cheaper than switching threads. `body` must not use the pool
  /// again.
  @inline(__always)  // Closures that capture `body` would count references to what it captures.
  func read<R>(_ body: (Reader) throws -> R) throws -> R {
    while true {
      let (isAdmitted, idle) = try state.withLock { try $0.admitSingle(mayWait: true) }
      if isAdmitted { return try perform(body, with: idle) }
      singleEnded.wait()
    }
  }

  /// Performs a read for callers that must not block; returns `nil` if all readers for single reads are in use.
  func readWithoutWaiting<R>(_ body: (Reader) throws -> R) throws -> R? {
    let (isAdmitted, idle) = try state.withLock { try $0.admitSingle(mayWait: false) }
    return isAdmitted ? try perform(body, with: idle) : nil
  }

  @inline(__always)
  private func perform<R>(_ body: (Reader) throws -> R, with idle: Reader?) throws -> R {
    var reader = idle
    defer { if state.withLock(passing: reader, { $0.endSingle($1) }) { singleEnded.signal() } }
    let used = try reader ?? makeReader()
    reader = used
    return try body(used)
  }

  // MARK: Loans

  /// Lends a reader while `body` runs, suspending while the maximum number is lent.
  /// - Throws: `CancellationError` if the task is cancelled while it waits, or the error that the pool was closed with.
  func withReader<R>(_ body: (Reader) async throws -> R) async throws -> R {
    let depth = Self.depth
    let reader = try await borrow(depth)
    defer { giveBack(reader, depth) }
    return try await Self.$depth.withValue(depth + 1) { try await body(reader) }
  }

  /// The number of callers that wait for a reader.
  var waiting: Int { state.withLock { $0.lines.reduce(0) { $0 + $1.waiting.count } } }

  private func borrow(_ depth: Int) async throws -> Reader {
    let reader: Reader?
    switch try state.withLock({ try $0.borrow(depth) }) {
    case let idle??: reader = idle
    case .some(nil): reader = nil
    case nil: reader = try await state.wait(in: \.lines[depth].waiting) { try $0.borrow(depth) }
    }
    do {
      return try reader ?? makeReader()
    } catch {
      giveBack(nil, depth)
      throw error
    }
  }

  private func giveBack(_ reader: Reader?, _ depth: Int) {
    let next = state.withLock { state -> (waiter: FairQueue<Reader?>.Waiter, reader: Reader?)? in
      // The first waiter takes over the loan, so that no later caller overtakes it.
      if let waiter = state.lines[depth].waiting.takeFirst() { return (waiter, reader ?? state.idle.popLast()) }
      state.lines[depth].lent -= 1
      if let reader { state.keep(reader) }
      return nil
    }
    next?.waiter.resume(returning: next?.reader)
  }

  /// Closes the idle readers but one, each of which keeps a cache of pages, and empties the cache of that one: while a
  /// store is open, one connection shows it to other processes.
  func closeIdle() {
    var idle = state.withLock { state in
      defer { state.idle.removeAll() }
      return state.idle
    }
    guard let kept = idle.popLast() else { return }
    kept.connection.releaseMemory()
    state.withLock { $0.keep(kept) }
  }

  /// Closes the pool: idle readers at once, lent ones on return. Waiting and later callers receive `refusal`.
  func close(_ refusal: StorageError) {
    let (waiters, singles) = state.withLock { state -> ([FairQueue<Reader?>.Waiter], Int) in
      state.refusal = state.refusal ?? refusal
      state.idle.removeAll()
      defer { state.waitingSingles = 0 }
      let waiters = state.lines.indices.flatMap { state.lines[$0].waiting.takeAll() }
      return (waiters, state.waitingSingles)
    }
    for _ in 0..<singles { singleEnded.signal() }
    for waiter in waiters { waiter.resume(throwing: refusal) }
  }
}

extension ReaderPool {
  fileprivate static func limit(_ depth: Int) -> Int { depth < limits.count ? limits[depth] : deepLimit }
}

extension ReaderPool.State {
  /// Admits a single read, with an idle reader if there is one, unless there are too many; with `mayWait`, the thread
  /// is woken when one has ended.
  fileprivate mutating func admitSingle(mayWait: Bool) throws -> (isAdmitted: Bool, idle: Reader?) {
    if let refusal { throw refusal }
    guard singles < ReaderPool.singleLimit else {
      if mayWait { waitingSingles += 1 }
      return (false, nil)
    }
    singles += 1
    return (true, idle.popLast())
  }

  /// - Returns: Whether a waiting thread must be woken, which then tries again.
  fileprivate mutating func endSingle(_ reader: Reader?) -> Bool {
    singles -= 1
    if let reader { keep(reader) }
    guard waitingSingles > 0 else { return false }
    waitingSingles -= 1
    return true
  }

  /// Returns an idle reader, or `.some(nil)` for permission to open one, or `nil` if the caller must wait.
  fileprivate mutating func borrow(_ depth: Int) throws -> Reader?? {
    if let refusal { throw refusal }
    while lines.count <= depth { lines.append(ReaderPool.Line()) }
    guard lines[depth].lent < ReaderPool.limit(depth) else { return nil }
    lines[depth].lent += 1
    return .some(idle.popLast())
  }

  fileprivate mutating func keep(_ reader: Reader) {
    guard refusal == nil, idle.count < ReaderPool.idleLimit else { return }
    idle.append(reader)
  }
}
