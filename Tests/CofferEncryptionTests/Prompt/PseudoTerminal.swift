import CofferTestSupport
import Foundation

/// A pseudo-terminal at which the test types.
final class PseudoTerminal: Sendable {
  /// The path of the device that the program opens.
  let path: String
  private let master: Int32
  /// Kept open, as a shell does, so that the terminal stays when the program closes it.
  private let slave: Int32

  init() throws {
    (master, path) = try Self.open()
    slave = Foundation.open(path, O_RDWR | O_NOCTTY)
    guard slave >= 0 else { throw TestFailure("\(path): \(String(cString: strerror(errno)))") }
  }

  private static func open() throws -> (Int32, path: String) {
    #if canImport(Darwin)
      let master = posix_openpt(O_RDWR | O_NOCTTY)
      if master >= 0, grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) {
        return (master, String(cString: name))
      }
    #else
      // The system calls of those functions, which Glibc's module lacks, like the macros TIOCSPTLCK and TIOCGPTN.
      let master = Foundation.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
      var isLocked: Int32 = 0
      var number: UInt32 = 0
      if master >= 0, ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 {
        return (master, "/dev/pts/\(number)")
      }
    #endif
    throw TestFailure("no pseudo-terminal: \(String(cString: strerror(errno)))")
  }

  deinit {
    close(slave)
    close(master)
  }

  func type(_ text: String) { _ = write(master, text, text.utf8.count) }

  /// Returns the output of the terminal up to `end`.
  func shown(upTo end: String) throws -> String {
    var seen = ""
    while !seen.utf8.reversed().starts(with: end.utf8.reversed()) {  // CR and LF are one Character
      var request = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
      guard poll(&request, 1, 60_000) == 1 else { throw TestFailure("the terminal shows no '\(end)': '\(seen)'") }
      var byte: UInt8 = 0
      guard read(master, &byte, 1) == 1 else { throw TestFailure("the terminal is closed: '\(seen)'") }
      seen.unicodeScalars.append(Unicode.Scalar(byte))
    }
    return seen
  }

  /// Whether the terminal echoes input, and whether Ctrl-C sends a signal.
  var modes: (echo: Bool, signals: Bool) {
    let flags = settings.c_lflag
    return (flags & tcflag_t(ECHO) != 0, flags & tcflag_t(ISIG) != 0)
  }

  func set(_ settings: termios) {
    var settings = settings
    tcsetattr(slave, TCSANOW, &settings)
  }

  var settings: termios {
    var settings = termios()
    tcgetattr(slave, &settings)
    return settings
  }
}
