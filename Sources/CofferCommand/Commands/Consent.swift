import CofferTerminal

extension Invocation {
  /// Throws a usage error if a question is needed and there is no terminal to ask it on: without `--yes`.
  /// - Parameter what: the words of the command that asks.
  func requireTerminalOrConsent(_ what: String) throws {
    guard !has(.yes), !Input.isTerminal || !Output.error.isTerminal else { return }
    throw Command.mistake("'\(what)' needs --yes when there is no terminal.", command)
  }

  /// Asks for confirmation on a terminal, unless `--yes` was given.
  /// - Parameters:
  ///   - question: the question.
  ///   - otherwise: what holds if the answer is no, as a sentence.
  /// - Throws: `CommandError` without a terminal and `--yes`; `notConfirmed`.
  func askForConsent(_ question: String, otherwise: String) async throws {
    try requireTerminalOrConsent(command.rawValue)
    guard !has(.yes) else { return }
    let lowered = otherwise.prefix(1).lowercased() + otherwise.dropFirst().dropLast()
    guard try await confirm(question, otherwise: lowered) else {
      throw CommandError(.failure, "notConfirmed", otherwise)
    }
  }
}
