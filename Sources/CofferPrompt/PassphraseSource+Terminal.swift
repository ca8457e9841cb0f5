public import CofferCrypto
import Foundation

extension PassphraseSource {
  /// The person at the terminal of the process, who types it unseen.
  ///
  /// The standard input and output may lead elsewhere. Ctrl-C interrupts the program as always, after the terminal
  /// shows again what is typed.
  /// - Parameter prompt: what the terminal shows first.
  public static func terminal(prompt: String = "Passphrase: ") -> PassphraseSource {
    terminal(prompt: prompt, at: .ofProcess)
  }

  /// The person at another terminal.
  package static func terminal(prompt: String = "Passphrase: ", at place: PromptPlace) -> PassphraseSource {
    .asking("the terminal") { source, confirming in
      try PassphrasePrompt(source, place).passphrase(prompt: prompt, confirming: confirming)
    }
  }
}

/// The terminal that asks; tests bring their own.
package struct PromptPlace: Sendable {
  let path: String
  /// What Ctrl-C does, once the terminal is as it was.
  let interrupt: @Sendable () -> Void

  package init(path: String, interrupt: @escaping @Sendable () -> Void) {
    self.path = path
    self.interrupt = interrupt
  }

  static let ofProcess = PromptPlace(
    path: "/dev/tty",
    // What the terminal would have done: to every process of the pipeline.
    interrupt: { _ = kill(0, SIGINT) })
}
