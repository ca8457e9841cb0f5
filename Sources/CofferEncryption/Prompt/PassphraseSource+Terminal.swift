import Foundation

extension PassphraseSource {
  /// A prompt at the controlling terminal of the process, without echo.
  ///
  /// Standard input and output may be redirected. Ctrl-C interrupts the program as usual, after the terminal's echo is
  /// restored.
  /// - Parameter prompt: the text that the terminal shows.
  public static func terminal(prompt: String = "Passphrase: ") -> PassphraseSource {
    terminal(prompt: prompt, at: .ofProcess)
  }

  /// A prompt at another terminal.
  package static func terminal(prompt: String = "Passphrase: ", at device: PromptDevice) -> PassphraseSource {
    .asking("the terminal") { source, confirming in
      try PassphrasePrompt(source, device).passphrase(prompt: prompt, confirming: confirming)
    }
  }
}

/// The terminal of a prompt; tests substitute their own.
package struct PromptDevice: Sendable {
  let path: String
  /// The effect of Ctrl-C, called after the terminal is restored.
  let interrupt: @Sendable () -> Void

  package init(path: String, interrupt: @escaping @Sendable () -> Void) {
    self.path = path
    self.interrupt = interrupt
  }

  static let ofProcess = PromptDevice(
    path: "/dev/tty",
    // As the terminal does: the signal goes to every process of the pipeline.
    interrupt: { _ = kill(0, SIGINT) })
}
