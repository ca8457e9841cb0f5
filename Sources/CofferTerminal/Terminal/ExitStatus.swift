/// How the command ends, for scripts.
///
/// | status | meaning |
/// |---|---|
/// | 0 | it worked |
/// | 1 | it failed |
/// | 2 | the command line is wrong |
/// | 3 | there is no such thing |
/// | 75 | it is too early: the same later may work |
/// | 130 | it was interrupted |
package enum ExitStatus: Int32, CaseIterable, Sendable {
  case ok = 0
  case failure = 1
  case usage = 2
  case notFound = 3
  /// The number that mail programs gave this meaning; service managers know it.
  case tryAgain = 75
  case interrupted = 130

  /// What it means to every program; empty where few use it.
  package var defaultMeaning: String {
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
