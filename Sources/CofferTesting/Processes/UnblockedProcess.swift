#if os(Linux) || os(macOS)
  public import Foundation

  extension Process {
    private static let starts = NSLock()

    /// Creates a pipe while no program is being started, which would inherit it: a reader would find its end only at
    /// the end of that program.
    package static func pipe() -> Pipe { starts.withLock { Pipe() } }

    /// Starts the program with no signal blocked, after others that this process is starting.
    ///
    /// The threads of Dispatch, on which tasks run, block most signals, and a program inherits the mask of the thread
    /// that starts it. `SIGTERM` and `SIGINT` would not end a program that does not handle them, nor would `SIGCHLD`
    /// arrive. On Linux, programs that are started at the same time may inherit each other's descriptors, and
    /// Foundation then takes one for running until the other has ended.
    /// - Throws: the error of `run()`.
    public func runUnblocked() throws {
      var (none, before) = (sigset_t(), sigset_t())
      sigemptyset(&none)
      pthread_sigmask(SIG_SETMASK, &none, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      try Self.starts.withLock { try run() }
    }

    /// Starts a program with ``runUnblocked()``, and returns its process.
    package static func start(_ program: String, _ arguments: [String]) throws -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments
      try process.runUnblocked()
      return process
    }
  }
#endif
