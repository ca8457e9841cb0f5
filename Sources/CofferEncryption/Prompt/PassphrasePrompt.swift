import CofferCore
import Foundation

/// A prompt for a passphrase at a terminal, without echo.
struct PassphrasePrompt {
  private let source: PassphraseSource
  private let device: PromptDevice

  init(_ source: PassphraseSource, _ device: PromptDevice) {
    self.source = source
    self.device = device
  }

  func passphrase(prompt: String, confirming: Bool) throws -> SecretBytes {
    let terminal = open(device.path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    var saved = termios()
    guard terminal >= 0, tcgetattr(terminal, &saved) == 0 else {
      if terminal >= 0 { close(terminal) }
      throw source.problem(
        .unavailable, "there is no terminal.", "Run the program in a terminal, or use another source.")
    }
    defer { close(terminal) }
    while true {
      do {
        return try caughtSignals { signals in
          try unseen(terminal, saved) { mute in
            let input = Input(terminal: terminal, interrupt: saved.interrupt, signals: signals, mute: mute)
            let first = try line(input, prompt: prompt)
            guard confirming else { return first }
            let second = try line(input, prompt: "Repeat the passphrase: ")
            guard first == second else {
              throw source.problem(.invalidPassphrase, "the two entries differ.", "Try again.")
            }
            return first
          }
        }
      } catch is Interruption {
        device.interrupt()
        throw source.problem(.unavailable, "the input was interrupted.")
      } catch let signal as CaughtSignal {
        // The terminal is restored. A process that was stopped resumes here and prompts again.
        PromptSignals.take(signal.number)
        guard PromptSignals.isPassing(signal.number) else {
          throw source.problem(.unavailable, "the input was interrupted.")
        }
      }
    }
  }

  /// An error that reports that the user typed Ctrl-C.
  private struct Interruption: Error {}

  private struct CaughtSignal: Error {
    let number: Int32
  }

  private struct Input {
    let terminal: Int32
    let interrupt: UInt8?
    let signals: PromptSignals
    /// Disables the terminal's echo again.
    let mute: () -> Void
  }

  /// Runs `body`, and delivers signals that arrive meanwhile after it has returned.
  private func caughtSignals<R>(_ body: (PromptSignals) throws -> R) throws -> R {
    let signals = try PromptSignals()
    let result = Result { try body(signals) }
    for number in signals.end() where number != SIGCONT { PromptSignals.take(number) }
    return try result.get()
  }

  /// Runs `body` with the terminal's echo disabled, and restores the terminal's settings afterwards.
  private func unseen<R>(
    _ terminal: Int32, _ saved: termios, _ body: (_ mute: @escaping () -> Void) throws -> R
  ) throws -> R {
    var settings = saved
    settings.c_lflag &= ~tcflag_t(ECHO | ECHOE | ECHOK | ECHONL)
    // A signal from the keyboard would end the process with echo still disabled. So Ctrl-C ends the line instead, as
    // its last byte, and the signal is sent after the terminal is restored.
    settings.c_lflag &= ~tcflag_t(ISIG)
    settings.c_lflag |= tcflag_t(ICANON)
    settings.c_iflag |= tcflag_t(ICRNL)
    if let interrupt = saved.interrupt {
      withUnsafeMutableBytes(of: &settings.c_cc) { $0[Int(VEOL)] = interrupt }
    }
    // Input that was typed before the prompt was shown is discarded.
    guard tcsetattr(terminal, TCSAFLUSH, &settings) == 0 else {
      throw source.problem(.unavailable, "the terminal's echo cannot be disabled.")
    }
    defer {
      var saved = saved
      while tcsetattr(terminal, TCSAFLUSH, &saved) != 0, errno == EINTR {}
    }
    return try body { [settings] in
      // A shell that stopped and continued the process may have changed the terminal's settings.
      var settings = settings
      while tcsetattr(terminal, TCSANOW, &settings) != 0, errno == EINTR {}
    }
  }

  /// Waits until a line has been typed.
  /// - Throws: `CaughtSignal`.
  private func wait(for input: Input) throws {
    while true {
      var requests = [
        pollfd(fd: input.terminal, events: Int16(POLLIN), revents: 0),
        pollfd(fd: input.signals.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let count = poll(&requests, 2, -1)
      if let number = input.signals.next() {
        guard number == SIGCONT else { throw CaughtSignal(number: number) }
        input.mute()
      } else if count > 0, requests[0].revents != 0 {
        return
      } else if count < 0, errno != EINTR, errno != EAGAIN {
        throw source.problem(.unavailable, "the terminal could not be read.")
      }
    }
  }

  private func line(_ input: Input, prompt: String) throws -> SecretBytes {
    let (terminal, interrupt) = (input.terminal, input.interrupt)
    write(prompt.escapingControlCharacters, to: terminal)
    defer { write("\n", to: terminal) }  // the user's own was not echoed
    var count = 0
    let bytes = try SecretBytes(count: Self.lineLimit + 2) { bytes in
      while count < bytes.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
        try wait(for: input)
        let read = Foundation.read(terminal, rest.baseAddress, rest.count)
        if read < 0 && errno == EINTR { continue }
        guard read >= 0 else { throw source.problem(.unavailable, "the terminal could not be read.") }
        count += read
        if let interrupt, rest.prefix(read).contains(interrupt) { throw Interruption() }
        if read == 0 || bytes[count - 1] == UInt8(ascii: "\n") { return }
      }
    }
    // Terminals silently drop input beyond their line limit.
    guard count < Self.lineLimit else {
      throw source.problem(
        .invalidPassphrase, "it is longer than the terminal's line limit.", "Use another source.")
    }
    return try source.trimmed((bytes, count))
  }

  #if canImport(Darwin)
    private static let lineLimit = 1024
  #else
    private static let lineLimit = 4096
  #endif

  private func write(_ text: String, to terminal: Int32) {
    // If the terminal cannot be written, reading the reply fails as well.
    var text = text
    text.withUTF8 { _ = Foundation.write(terminal, $0.baseAddress, $0.count) }
  }
}

extension termios {
  /// The value of a disabled control character: `_POSIX_VDISABLE`, which is not imported on every platform.
  #if canImport(Darwin)
    private var noByte: UInt8 { 0xFF }
  #else
    private var noByte: UInt8 { 0 }
  #endif

  /// The interrupt character (Ctrl-C), or `nil` if it is disabled.
  fileprivate var interrupt: UInt8? {
    guard c_lflag & tcflag_t(ISIG) != 0 else { return nil }
    let byte = withUnsafeBytes(of: c_cc) { $0[Int(VINTR)] }
    return byte == noByte ? nil : byte
  }
}
