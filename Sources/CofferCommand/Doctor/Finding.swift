import Coffer
import CofferTerminal

extension Finding {
  /// Returns a problem with the message, the cause and the advice of an error.
  static func problem(_ subject: String, _ error: any Error) -> Finding {
    guard let error = (error as? StorageError)?.advisingCommands else {
      let error = CommandError(error)
      return problem(subject, error.message, fix: error.advice)
    }
    let cause = error.underlying.map { " (\($0.domain) \($0.code): \($0.text))" } ?? ""
    return problem(subject, error.message + cause, fix: error.advice)
  }
}

extension String {
  /// The string as a single shell word, quoted if necessary.
  var quotedForShell: String {
    guard contains(where: { !$0.isASCII || !($0.isLetter || $0.isNumber || "/._-+:@,=".contains($0)) }) else {
      return self
    }
    return "'" + replacing("'", with: "'\\''") + "'"
  }
}
