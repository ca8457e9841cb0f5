/// How the command ends, for scripts.
///
/// | status | meaning |
/// |---|---|
/// | 0 | it worked |
/// | 1 | it failed, or damaged values were found |
/// | 2 | the command line is wrong |
/// | 3 | there is no such key, or no store |
/// | 130 | it was interrupted |
enum ExitStatus: Int32, CaseIterable, Sendable {
  case ok = 0
  case failure = 1
  case usage = 2
  case notFound = 3
  case interrupted = 130

  /// What help says.
  var meaning: String {
    switch self {
    case .ok: "it worked"
    case .failure: "it failed, or damaged values were found"
    case .usage: "the command line is wrong"
    case .notFound: "there is no such key, or no store"
    case .interrupted: "it was interrupted"
    }
  }
}
