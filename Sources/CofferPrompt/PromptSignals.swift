import CofferCShims
import CofferCore
import Foundation

/// The signals that would end or stop the process while a terminal does not show what is typed. They are caught for the
/// time of a prompt, and taken once the terminal is as before.
///
/// A signal that the program ignores stays ignored; one that it handles is handled, after the terminal is as before.
final class PromptSignals {
  private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]
  private static let others = [SIGTSTP, SIGCONT]
  /// Signals are caught for the whole process, so one prompt at a time does so.
  private static let turn = NSLock()

  private var caught: [(number: Int32, before: sigaction)] = []
  private let entrance: Int32
  /// Readable once a signal has come.
  let descriptor: Int32

  /// Catches the signals, until ``end()``. Waits while another thread asks for a passphrase.
  init() throws {
    var ends: (Int32, Int32) = (-1, -1)
    let made = withUnsafeMutableBytes(of: &ends) { pipe($0.bindMemory(to: Int32.self).baseAddress) }
    guard made == 0 else {
      throw StorageError(
        .unavailable, "The terminal cannot be asked: there are too many open files.",
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

  /// A signal that has come; `nil` when none has.
  func next() -> Int32? {
    var number: UInt8 = 0
    return read(descriptor, &number, 1) == 1 ? Int32(number) : nil
  }

  /// Lets the signals be again what they were.
  /// - Returns: Those that have come meanwhile.
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

  /// Lets a signal have its effect: it ends or stops the process, or the program handles it.
  static func take(_ number: Int32) { coffer_take_signal(number) }

  /// Whether the process goes on after this signal where it was.
  static func isPassing(_ number: Int32) -> Bool { others.contains(number) }
}
