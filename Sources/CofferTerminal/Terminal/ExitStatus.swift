/// The exit status of a command, for scripts.
///
/// | status | meaning |
/// |---|---|
/// | 0 | it worked |
/// | 1 | it failed |
/// | 2 | the command line is wrong |
/// | 3 | there is no such thing |
/// | 75 | a temporary failure: the same command may work later |
/// | 130 | it was interrupted |
///
/// A command returns one, or throws a ``CommandError`` that has one. ``ProgramCommand/main(_:)`` exits with it.
public enum ExitStatus: Int32, CaseIterable, Sendable {
  /// The command succeeded.
  case ok = 0
  /// The command failed.
  case failure = 1
  /// The command line is invalid: that of ``ProgramCommand/mistake(_:_:)``.
  case usage = 2
  /// The requested item does not exist.
  case notFound = 3
  /// A temporary failure: the same command may succeed later. `EX_TEMPFAIL` of `sysexits.h`, which mail programs and
  /// service managers recognise.
  case tryAgain = 75
  /// The command was interrupted: 128 plus the number of `SIGINT`, as shells report it.
  case interrupted = 130

  /// The default meaning of the status, as a lower-case clause; empty for ``tryAgain``, which few programs use.
  public var defaultMeaning: String {
    switch self {
    case .ok: "it worked"
    case .failure: "it failed"
    case .usage: "the command line is wrong"
    case .notFound: "there is no such thing"
    case .tryAgain: ""
    case .interrupted: "it was interrupted"
    }
  }
}
