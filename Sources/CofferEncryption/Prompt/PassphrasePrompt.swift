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
    do {
      return try unseen(terminal, saved) {
        let first = try line(terminal, saved.interrupt, prompt: prompt)
        guard confirming else { return first }
        let second = try line(terminal, saved.interrupt, prompt: "Repeat the passphrase: ")
        guard first == second else {
          throw source.problem(.invalidPassphrase, "the two entries differ.", "Try again.")
        }
        return first
      }
    } catch is Interruption {
      device.interrupt()
      throw source.problem(.unavailable, "the input was interrupted.")
    }
  }

  /// An error that reports that the user typed Ctrl-C.
  private struct Interruption: Error {}

  /// Runs `body` with the terminal's echo disabled, and restores the terminal's settings afterwards.
  private func unseen<R>(_ terminal: Int32, _ saved: termios, _ body: () throws -> R) throws -> R {
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
    return try body()
  }

  private func line(_ terminal: Int32, _ interrupt: UInt8?, prompt: String) throws -> SecretBytes {
    write(prompt.escapingControlCharacters, to: terminal)
    defer { write("\n", to: terminal) }  // the user's own was not echoed
    var count = 0
    let bytes = try SecretBytes(count: Self.lineLimit + 2) { bytes in
      while count < bytes.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
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
