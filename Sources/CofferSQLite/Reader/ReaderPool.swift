import CofferCore
import CofferLocks

/// Lends readers, one borrower each. There are as many as are borrowed at once; a few stay open for the next.
final class ReaderPool: Sendable {
  private static let idleLimit = 4
  /// How many may be lent at once: each has some file descriptors, of which a process often has no more than 1,024.
  private static let lentLimit = 64

  private struct State {
    var idle: [Reader] = []
    var lent = 0
    var refusal: StorageError?
  }

  private let state = Locked(State())
  private let makeReader: @Sendable () throws -> Reader

  init(makeReader: @escaping @Sendable () throws -> Reader) {
    self.makeReader = makeReader
  }

  /// Reads something at once, on the caller's thread: that is shorter than going anywhere else.
  func read<R>(_ body: (Reader) throws -> R) throws -> R {
    let reader = try borrow()
    defer { giveBack(reader) }
    return try body(reader)
  }

  func borrow() throws -> Reader {
    let idle = try state.withLock { state in
      if let refusal = state.refusal { throw refusal }
      guard state.lent < Self.lentLimit else { throw tooMany }
      state.lent += 1
      return state.idle.popLast()
    }
    do {
      return try idle ?? makeReader()
    } catch {
      state.withLock { $0.lent -= 1 }
      throw error
    }
  }

  func giveBack(_ reader: Reader) {
    state.withLock { state in
      state.lent -= 1
      guard state.refusal == nil, state.idle.count < Self.idleLimit else { return }
      state.idle.append(reader)
    }
  }

  private var tooMany: StorageError {
    StorageError(
      .busy, "\(Self.lentLimit) snapshots of this store are open at once.",
      advice: "Keep snapshots short, and let fewer tasks hold one at the same time.")
  }

  /// Lends no more and closes what is idle; what is lent is closed when it comes back.
  func close(_ refusal: StorageError) {
    state.withLock { state in
      state.refusal = state.refusal ?? refusal
      state.idle.removeAll()
    }
  }
}
