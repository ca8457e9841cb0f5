#if os(Linux) || os(macOS)
  package import Foundation

  extension Process {
    /// Starts the program with no signal blocked.
    ///
    /// The threads of Dispatch, on which tasks run, block most signals, and a program inherits the mask of the thread
    /// that starts it: `SIGTERM` and `SIGINT` would not end a program that does not handle them.
    package func runUnblocked() throws {
      var (none, before) = (sigset_t(), sigset_t())
      sigemptyset(&none)
      pthread_sigmask(SIG_SETMASK, &none, &before)
      defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
      try run()
    }
  }
#endif
