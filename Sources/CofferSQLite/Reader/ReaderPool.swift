import CofferCore
import CofferLocks
import Dispatch

/// Lends connections that read, in two ways that never wait for each other.
///
/// - ``read(_:)`` lends one for a single synchronous read. Its holder runs on a thread and cannot suspend, so it ends
///   without waiting for anything; the few who find all of them in use block for that moment.
/// - ``withReader(_:)`` lends one for as long as an asynchronous closure runs. Beyond the limit callers suspend in a
///   line, first in, first out; a cancelled task leaves the line with `CancellationError`.
///
/// A holder may ask for another, of this pool or of another store's: what is asked for inside of a loan waits in a line
/// of its own, one for each depth, and so never for a loan of its own depth or above. At the deepest line in which
/// anybody waits, no holder waits for a reader; so some loan always ends, and every line moves. That covers the task of
/// the closure and the tasks that it starts, but for detached ones: a closure must not wait for a task from elsewhere
/// that itself waits for a reader.
final class ReaderPool: Sendable {
  fileprivate static let idleLimit = 4
  /// How many may be lent at each depth: each has some file descriptors, of which a process often has only 1,024.
  private static let limits = [64, 16, 8]
  private static let deepLimit = 4
  /// How many single reads run at once; as many threads rarely exist.
  private static let singleLimit = 64

  /// How many loans the present task is inside of.
  @TaskLocal static var depth = 0

  fileprivate struct Waiter {
    let id: UInt64
    /// Gets an idle reader, or `nil` for the right to open one.
    let continuation: CheckedContinuation<Reader?, any Error>
  }

  fileprivate struct Line {
    var lent = 0
    var waiters: [Waiter] = []
  }

  fileprivate struct State {
    var idle: [Reader] = []
    var lines: [Line] = []
    var lastID: UInt64 = 0
    var refusal: StorageError?
  }

  private let state = Locked(State())
  private let singles = DispatchSemaphore(value: singleLimit)
  private let makeReader: @Sendable () throws -> Reader

  init(makeReader: @escaping @Sendable () throws -> Reader) {
    self.makeReader = makeReader
  }

  // MARK: Single reads

  /// Reads something at once, on the caller's thread: cheaper than switching threads. `body` must not read through the
  /// pool again.
  func read<R>(_ body: (Reader) throws -> R) throws -> R {
    singles.wait()
    defer { singles.signal() }
    return try readNow(body)
  }

  /// The same for callers that must not wait; `nil` when all readers for single reads are in use.
  func readWithoutWaiting<R>(_ body: (Reader) throws -> R) throws -> R? {
    guard singles.wait(timeout: .now()) == .success else { return nil }
    defer { singles.signal() }
    return try readNow(body)
  }

  private func readNow<R>(_ body: (Reader) throws -> R) throws -> R {
    let idle = try state.withLock { state in
      if let refusal = state.refusal { throw refusal }
      return state.idle.popLast()
    }
    let reader = try idle ?? makeReader()
    defer { state.withLock { $0.keep(reader) } }
    return try body(reader)
  }

  // MARK: Loans

  /// Lends a reader while `body` runs, waiting for one in line where too many are lent.
  /// - Throws: `CancellationError` when the task is cancelled while it waits; why the pool is closed.
  func withReader<R>(_ body: (Reader) async throws -> R) async throws -> R {
    let depth = Self.depth
    let reader = try await borrow(depth)
    defer { giveBack(reader, depth) }
    return try await Self.$depth.withValue(depth + 1) { try await body(reader) }
  }

  /// How many callers wait in line.
  var waiting: Int { state.withLock { $0.lines.reduce(0) { $0 + $1.waiters.count } } }

  private func borrow(_ depth: Int) async throws -> Reader {
    let reader: Reader?
    switch try state.withLock({ try $0.borrow(depth) }) {
    case .lent(let idle): reader = idle
    case .full(let id): reader = try await wait(depth, id)
    }
    do {
      return try reader ?? makeReader()
    } catch {
      giveBack(nil, depth)
      throw error
    }
  }

  private func wait(_ depth: Int, _ id: UInt64) async throws -> Reader? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let answer = state.withLock { state -> Result<Reader?, any Error>? in
          // A cancellation before this point found nobody in the line; one after it finds the waiter.
          if Task.isCancelled { return .failure(CancellationError()) }
          return state.enter(depth, Waiter(id: id, continuation: continuation))
        }
        if let answer { continuation.resume(with: answer) }
      }
    } onCancel: {
      state.withLock { $0.leave(depth, id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  private func giveBack(_ reader: Reader?, _ depth: Int) {
    let next = state.withLock { state -> (waiter: Waiter, reader: Reader?)? in
      // Whoever is first in line takes over the place, so that nobody who comes now is before them.
      if let waiter = state.takeFirst(depth) { return (waiter, reader ?? state.idle.popLast()) }
      state.lines[depth].lent -= 1
      if let reader { state.keep(reader) }
      return nil
    }
    next?.waiter.continuation.resume(returning: next?.reader)
  }

  /// Lends no more and closes what is idle; what is lent is closed when it comes back. Whoever waits is refused.
  func close(_ refusal: StorageError) {
    let waiters = state.withLock { state -> [Waiter] in
      state.refusal = state.refusal ?? refusal
      state.idle.removeAll()
      return state.lines.indices.flatMap { depth in
        defer { state.lines[depth].waiters = [] }
        return state.lines[depth].waiters
      }
    }
    for waiter in waiters { waiter.continuation.resume(throwing: refusal) }
  }
}

extension ReaderPool {
  fileprivate enum Place {
    case lent(Reader?)
    /// The number under which the caller may wait.
    case full(UInt64)
  }

  fileprivate static func limit(_ depth: Int) -> Int { depth < limits.count ? limits[depth] : deepLimit }
}

extension ReaderPool.State {
  fileprivate mutating func borrow(_ depth: Int) throws -> ReaderPool.Place {
    if let refusal { throw refusal }
    while lines.count <= depth { lines.append(ReaderPool.Line()) }
    guard lines[depth].lent < ReaderPool.limit(depth) else {
      lastID += 1
      return .full(lastID)
    }
    lines[depth].lent += 1
    return .lent(idle.popLast())
  }

  /// Puts a waiter at the end of the line, unless something has changed since it was told to wait.
  fileprivate mutating func enter(_ depth: Int, _ waiter: ReaderPool.Waiter) -> Result<Reader?, any Error>? {
    if let refusal { return .failure(refusal) }
    if lines[depth].lent < ReaderPool.limit(depth) {
      lines[depth].lent += 1
      return .success(idle.popLast())
    }
    lines[depth].waiters.append(waiter)
    return nil
  }

  fileprivate mutating func leave(_ depth: Int, _ id: UInt64) -> ReaderPool.Waiter? {
    guard let index = lines[depth].waiters.firstIndex(where: { $0.id == id }) else { return nil }
    return lines[depth].waiters.remove(at: index)
  }

  fileprivate mutating func takeFirst(_ depth: Int) -> ReaderPool.Waiter? {
    lines[depth].waiters.isEmpty ? nil : lines[depth].waiters.removeFirst()
  }

  fileprivate mutating func keep(_ reader: Reader) {
    guard refusal == nil, idle.count < ReaderPool.idleLimit else { return }
    idle.append(reader)
  }
}
