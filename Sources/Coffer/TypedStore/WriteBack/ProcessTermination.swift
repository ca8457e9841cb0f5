import CofferCore
import CofferEncryption
import Dispatch
import Foundation

/// The write end of the pipe through which the signal handler reports.
/// Written once, before the first handler is installed, and only read afterwards.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// The process that has installed the handlers; written as `signalPipe` is.
nonisolated(unsafe) private var installingProcess: pid_t = 0

/// Writes the number of a signal into the pipe: the only thing that a handler of a signal may do.
private func noteSignal(_ number: Int32) {
  let before = errno
  if getpid() == installingProcess {
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(signalPipe, &byte, 1)
  } else {
    // A forked child has the handlers and the pipe, but not the thread: the parent would end in its stead.
    signal(number, SIG_DFL)
    raise(number)
  }
  errno = before
}

/// Saves the clients of sessions and the pending writes of stores that ask for it before the process ends.
package final class ProcessTermination: Sendable {
  package static let shared = ProcessTermination()
  /// The time after which the process ends even if not everything is saved.
  private static let patience = DispatchTimeInterval.seconds(5)

  private struct State {
    var saves: [ObjectIdentifier: @Sendable () async throws -> Void] = [:]
    var isInstalled = false
    var isEnding = false
  }

  private let state = Locked(State())

  /// Whether the process is ending, so that the concurrency pool may be blocked.
  var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Adds what an object has to save. The closure must not keep the object alive.
  package func add(_ owner: AnyObject, _ save: @escaping @Sendable () async throws -> Void) {
    let installs = state.withLock { state in
      state.saves[ObjectIdentifier(owner)] = save
      defer { state.isInstalled = true }
      return !state.isInstalled
    }
    if installs { install() }
  }

  private func install() {
    // Handlers of `exit` run in the reverse order of their registration: that of OpenSSL, which releases what an
    // encrypted commit needs, must be registered before.
    initializeCryptography()
    installingProcess = getpid()
    atexit { if getpid() == installingProcess { ProcessTermination.shared.saveAll() } }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    signalPipe = ends[1]
    let input = ends[0]
    var actions: [Int32: sigaction] = [:]
    for number in [SIGTERM, SIGINT] {
      var before = sigaction()
      sigaction(number, nil, &before)
      actions[number] = before
      let handler = unsafeBitCast(signal(number, noteSignal), to: Int.self)
      if handler == unsafeBitCast(SIG_IGN, to: Int.self) { signal(number, SIG_IGN) }
    }
    Thread.detachNewThread { [self, actions] in
      var byte: UInt8 = 0
      while true {
        let count = read(input, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { return }
        saveAll()
        // The process's own action: it ends, or its handler decides.
        guard var action = actions[Int32(byte)] else { continue }
        sigaction(Int32(byte), &action, nil)
        kill(getpid(), Int32(byte))
      }
    }
  }

  /// Saves everything, and waits for it for a limited time.
  private func saveAll() {
    let saves = state.withLock { state in
      state.isEnding = true
      return state.saves.values
    }
    let done = DispatchGroup()
    for save in saves {
      done.enter()
      SavingTask.throwing {
        do { try await save() } catch { Self.report("Not everything could be saved. \(StoredError.storage(error))") }
        done.leave()
      }
    }
    guard done.wait(timeout: .now() + Self.patience) == .timedOut else { return }
    Self.report(
      "The process ends before everything could be saved. Edits since the last interval may be lost. "
        + "Call save() of the session, or flush() of the store, before exit.")
  }

  /// States a loss on standard error: nothing else is left to report it.
  private static func report(_ text: String) {
    FileHandle.standardError.write(Data("coffer: \(text)\n".utf8))
  }
}

/// A detached task that is able to run while the process ends: `exit` in a task blocks a thread of the concurrency
/// pool, and on a machine with one processor the pool has no other.
package enum SavingTask {
  @available(macOS 15, iOS 18, watchOS 11, *)
  private final class Executor: TaskExecutor {
    static let shared = Executor()
    private let queue = DispatchQueue(label: "coffer.termination")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @discardableResult
  package static func throwing<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) -> Task<R, any Error> {
    if #available(macOS 15, iOS 18, watchOS 11, *), ProcessTermination.shared.isEnding {
      return Task.detached(executorPreference: Executor.shared) { try await body() }
    }
    return Task.detached { try await body() }
  }
}
