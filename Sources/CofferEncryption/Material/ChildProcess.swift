#if os(Linux)
  import CofferCShims
  import CofferCore
  import Foundation

  /// A program whose standard output is read, and which can be killed at any time by its id. `Foundation.Process` would
  /// wait for the end of everything that inherited its descriptors.
  final class ChildProcess: Sendable {
    private struct State {
      /// The id, until the process is reaped: afterwards it may belong to another process.
      var pid: pid_t?
      var status: Int32 = 0
      var isKilled = false
      var output: Int32 = -1
    }

    private let state = Locked(State())

    deinit {
      kill()
      wait()
    }

    /// Starts a program with one more variable in its environment. Returns an `errno`, or 0.
    func start(_ program: String, _ arguments: [String], variable name: String, _ value: String) -> Int32 {
      var ends: [Int32] = [-1, -1]
      guard coffer_private_pipe(&ends) == 0 else { return errno }
      defer { close(ends[1]) }
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
      posix_spawn_file_actions_init(&actions)
      posix_spawnattr_init(&attributes)
      defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
      }
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
      // A blocked or ignored signal would be inherited.
      var (none, all) = (sigset_t(), sigset_t())
      sigemptyset(&none)
      sigfillset(&all)
      posix_spawnattr_setsigmask(&attributes, &none)
      posix_spawnattr_setsigdefault(&attributes, &all)
      posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
      var environment = ProcessInfo.processInfo.environment
      environment[name] = value
      var argv = ([program] + arguments).map { strdup($0) } + [nil]
      var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
      defer { for text in argv + envp { free(text) } }
      let result: Int32 = state.withLock { state in
        guard !state.isKilled else { return ECANCELED }
        var pid = pid_t()
        let result = posix_spawn(&pid, program, &actions, &attributes, &argv, &envp)
        if result == 0 { (state.pid, state.output) = (pid, ends[0]) }
        return result
      }
      if result != 0 { close(ends[0]) }
      return result
    }

    /// Returns the output up to its end, or `nil` if it is longer. The copy is wiped when it is released.
    /// - Throws: `CancellationError` when the process is killed, even if another one still has the pipe.
    func output(upTo limit: Int) throws -> Data? {
      let descriptor = state.withLock { $0.output }
      var count = 0
      let bytes = try SecretBytes(count: limit + 1) { bytes in
        while count < bytes.count {
          var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          let isReady = poll(&request, 1, 50) > 0
          if state.withLock({ $0.isKilled }) { throw CancellationError() }
          guard isReady else { continue }
          let read = Foundation.read(descriptor, bytes.baseAddress?.advanced(by: count), bytes.count - count)
          if read > 0 { count += read } else if read == 0 || errno != EINTR { return }
        }
      }
      return count <= limit ? SecretSlice(bytes, 0..<count).copy : nil
    }

    /// Kills the process if it is running, and prevents its start otherwise.
    func kill() {
      state.withLock { state in
        state.isKilled = true
        if let pid = state.pid { _ = Foundation.kill(pid, SIGKILL) }
      }
    }

    /// Waits for the end of the process, and closes its output. Returns its status, or the negative number of the
    /// signal that ended it. Idempotent, but not for two threads at once.
    @discardableResult
    func wait() -> Int32 {
      guard let pid = state.withLock({ $0.pid }) else { return state.withLock { $0.status } }
      var info = siginfo_t()
      while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      return state.withLock { state in
        var status: Int32 = 0
        waitpid(pid, &status, 0)  // does not block: the process has ended
        close(state.output)
        let signal = status & 0x7F
        state = State(pid: nil, status: signal == 0 ? (status >> 8) & 0xFF : -signal, isKilled: true)
        return state.status
      }
    }
  }
#endif
