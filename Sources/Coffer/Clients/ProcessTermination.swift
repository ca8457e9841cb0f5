import CofferCrypto
import CofferLocks
import Dispatch
import Foundation

/// The write end of the pipe through which the signal handler reports; -1 before one is installed.
/// Written once, before the first handler is installed, and only read afterwards.
nonisolated(unsafe) private var signalPipe: Int32 = -1

/// The process that has installed the handlers; written as `signalPipe` is.
nonisolated(unsafe) private var installingProcess: pid_t = 0

/// Writes the number of a signal into the pipe: the only thing that a handler of a signal may do.
private func noteSignal(_ number: Int32) {
  let before = errno
  // A forked child has the handlers and the pipe, but not the thread: the parent would end in its stead.
  guard getpid() == installingProcess else {
    signal(number, SIG_DFL)
    raise(number)
    errno = before
    return
  }
  var byte = UInt8(truncatingIfNeeded: number)
  _ = write(signalPipe, &byte, 1)
  errno = before
}

/// Saves the clients of sessions and the pending writes of stores before the process ends or is suspended.
final class ProcessTermination: Sendable {
  static let shared = ProcessTermination()
  /// The time, after ``patienceForAll``, after which the process ends even if a session is not saved.
  private static let patience = DispatchTimeInterval.seconds(2)
  /// The time after which clients that do not answer are left out.
  private static let patienceForAll = DispatchTimeInterval.seconds(2)

  /// The pending writes of a store. While there are any, the timer of their window retains them.
  private struct Buffer: Sendable {
    weak let buffer: WriteBuffer?
  }

  private struct State: Sendable {
    var savers: [ClientSaver] = []
    var buffers: [Buffer] = []
    var isInstalled = false
  }

  private let state = Locked(State())

  func add(_ saver: ClientSaver) {
    let installs = state.withLock { state in
      if !state.savers.contains(where: { $0 === saver }) { state.savers.append(saver) }
      defer { state.isInstalled = true }
      return !state.isInstalled
    }
    if installs { install() }
  }

  func add(_ buffer: WriteBuffer) {
    let installs = state.withLock { state in
      state.buffers.removeAll { $0.buffer == nil || $0.buffer === buffer }
      state.buffers.append(Buffer(buffer: buffer))
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
    let numbers = [SIGTERM, SIGINT, SIGTSTP]
    let before = numbers.map { Self.replaceAction(of: $0) }
    let actions = Dictionary(
      uniqueKeysWithValues: zip(numbers, before).compactMap { number, action in
        action.map { (number, $0) }
      })
    let thread = Thread { [self] in
      var byte: UInt8 = 0
      while true {
        let count = read(input, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { return }
        saveAll()
        if let action = actions[Int32(byte)] { Self.perform(Int32(byte), action) }
      }
    }
    thread.name = "coffer.termination"
    thread.start()
  }

  /// Installs the handler of a signal. Returns the previous action, or `nil` for an ignored signal, which stays so.
  private static func replaceAction(of number: Int32) -> sigaction? {
    var before = sigaction()
    guard sigaction(number, nil, &before) == 0, !isIgnored(before) else { return nil }
    var action = sigaction()
    #if canImport(Darwin)
      action.__sigaction_u.__sa_handler = noteSignal
    #else
      action.__sigaction_handler.sa_handler = noteSignal
    #endif
    action.sa_flags = SA_RESTART
    guard sigaction(number, &action, nil) == 0 else { return nil }
    return before
  }

  private static func isIgnored(_ action: sigaction) -> Bool {
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Performs the previous action of a signal in this thread: without a handler, the process ends or stops here.
  private static func perform(_ number: Int32, _ action: sigaction) {
    var action = action
    var present = sigaction()
    guard sigaction(number, &action, &present) == 0 else { return }
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(number)
    sigaction(number, &present, nil)
  }

  /// Saves all sessions and waits for it, for at most five seconds.
  private func saveAll() {
    let (savers, buffers) = state.withLock { state in
      (state.savers.filter(\.hasPendingEdits), state.buffers.compactMap(\.buffer).filter(\.hasPendingWrites))
    }
    guard !savers.isEmpty || !buffers.isEmpty else { return }
    SavingTask.atTermination { save(savers, buffers) }
  }

  private func save(_ savers: [ClientSaver], _ buffers: [WriteBuffer]) {
    let done = DispatchGroup()
    let failures = Locked<[StorageError]>([])
    for buffer in buffers {
      done.enter()
      SavingTask.detached {
        do { try await buffer.flush() } catch { failures.withLock { $0.append(StoredError.storage(error)) } }
        done.leave()
      }
    }
    for saver in savers {
      done.enter()
      SavingTask.detached {
        do { try await saver.save() } catch { failures.withLock { $0.append(StoredError.storage(error)) } }
        done.leave()
      }
    }
    defer { for failure in failures.withLock({ $0 }) { Self.report("Not everything could be saved. \(failure)") } }
    guard !Self.wait(for: done, Self.patienceForAll) else { return }
    // A client may be isolated to an actor that does not run any more: the others are saved without it.
    saveWhatAnswers(savers.filter(\.hasPendingEdits))
    if !Self.wait(for: done, Self.patience) {
      Self.report(
        "The process ends or stops before everything could be saved. Edits since the last interval may be lost. "
          + "Call save() of the session, or flush() of the store, before exit.")
    }
  }

  /// Saves the clients that can be asked, without those that do not answer within a second.
  private func saveWhatAnswers(_ savers: [ClientSaver]) {
    let collecting = savers.map { ($0, $0.collectWithoutTurn()) }
    let limit = DispatchTime.now() + .seconds(1)
    let written = DispatchGroup()
    for (saver, collection) in collecting {
      _ = collection.done.wait(timeout: limit)
      written.enter()
      SavingTask.detached {
        await saver.write(collection)
        written.leave()
      }
    }
    _ = written.wait(timeout: .now() + Self.patience)
  }

  /// Waits for a group. On the main thread, what is isolated to the main actor runs meanwhile, unless the caller of
  /// `exit` is itself isolated to it and was suspended before.
  private static func wait(for group: DispatchGroup, _ limit: DispatchTimeInterval) -> Bool {
    guard Thread.isMainThread else { return group.wait(timeout: .now() + limit) == .success }
    let end = DispatchTime.now() + limit
    while DispatchTime.now() < end {
      if group.wait(timeout: .now() + .milliseconds(2)) == .success { return true }
      _ = RunLoop.main.run(mode: .default, before: Date())
    }
    return false
  }

  /// States a loss on standard error: nothing else is left to tell.
  private static func report(_ text: String) {
    FileHandle.standardError.write(Data("coffer: \(text)\n".utf8))
  }
}
