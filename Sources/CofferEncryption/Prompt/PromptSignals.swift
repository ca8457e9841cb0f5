import CofferCShims
import CofferCore
import Foundation

/// A handler of the signals that would end or stop the process while a terminal's echo is disabled. They are caught
/// during a prompt and delivered after the terminal is restored.
///
/// A signal that the program ignores stays ignored; one that it handles is handled after the terminal is restored.
final class PromptSignals {
  private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
  private static let others = [SIGTSTP, SIGCONT]
  /// Serializes prompts, since signals are caught for the whole process.
  private static let turn = NSLock()

  private var caught: [(number: Int32, before: sigaction)] = []
  private let entrance: Int32
  /// A descriptor that is readable once a signal has arrived.
  let descriptor: Int32

  /// Catches the signals until ``end()``. Blocks while another thread prompts for a passphrase.
  init() throws {
    var ends: (Int32, Int32) = (-1, -1)
    let made = withUnsafeMutableBytes(of: &ends) { pipe($0.bindMemory(to: Int32.self).baseAddress) }
    guard made == 0 else {
      throw StorageError(
        .unavailable, "The terminal cannot prompt: there are too many open files.",
        underlying: .init(domain: "errno", code: Int(errno), text: String(cString: strerror(errno))))
    }
    (descriptor, entrance) = ends
    for end in [descriptor, entrance] {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    Self.turn.lock()
    coffer_note_signals_in(entrance)
    for number in Self.ending + Self.others {
      var before = sigaction()
      if coffer_catch_signal(number, &before) != 0 { caught.append((number, before)) }
    }
  }

  /// Returns the next signal that has arrived, or `nil` if there is none.
  func next() -> Int32? {
    var number: UInt8 = 0
    return read(descriptor, &number, 1) == 1 ? Int32(number) : nil
  }

  /// Restores the previous handlers of the signals.
  /// - Returns: The signals that have arrived and that ``next()`` has not returned.
  func end() -> [Int32] {
    for (number, before) in caught {
      var before = before
      sigaction(number, &before, nil)
    }
    var missed: [Int32] = []
    while let number = next() { missed.append(number) }
    coffer_note_signals_in(-1)
    Self.turn.unlock()
    close(descriptor)
    close(entrance)
    return missed
  }

  /// Delivers a signal, which ends or stops the process or is handled by the program.
  static func take(_ number: Int32) { coffer_take_signal(number) }

  /// Returns whether the process continues after this signal.
  static func isPassing(_ number: Int32) -> Bool { others.contains(number) }
}
