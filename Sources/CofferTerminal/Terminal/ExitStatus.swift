/// How a command ends, for scripts.
///
/// | status | meaning |
/// |---|---|
/// | 0 | it worked |
/// | 1 | it failed |
/// | 2 | the command line is wrong |
/// | 3 | there is no such thing |
/// | 75 | it is too early: the same later may work |
/// | 130 | it was interrupted |
///
/// A command returns one, or throws a ``CommandError`` that has one. ``ProgramCommand/main(_:)`` exits with it.
public enum ExitStatus: Int32, CaseIterable, Sendable {
  /// It worked.
  case ok = 0
  /// It failed.
  case failure = 1
  /// The command line is wrong: the status of every ``UsageError``.
  case usage = 2
  /// What was asked for does not exist.
  case notFound = 3
  /// It is too early, or something is not available for the moment: the same command may work later. `EX_TEMPFAIL` of
  /// `sysexits.h`, which mail programs and service managers know.
  case tryAgain = 75
  /// Somebody interrupted it: 128 and the number of `SIGINT`, as shells report it.
  case interrupted = 130

  /// What the status means to every program, as a lower-case clause; empty for ``tryAgain``, which few programs use.
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
