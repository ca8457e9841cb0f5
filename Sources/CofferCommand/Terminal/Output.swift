import Coffer
import Foundation

/// Standard output or standard error: buffered, and every failure is noticed.
final class Output {
  private static let capacity = 64 << 10

  private let descriptor: Int32
  private var buffer: [UInt8] = []

  let style: Style
  let isTerminal: Bool

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    style = Style(for: descriptor)
    isTerminal = isatty(descriptor) == 1
  }

  static var standard: Output { Output(STDOUT_FILENO) }
  static var error: Output { Output(STDERR_FILENO) }

  func write(_ text: String) throws {
    buffer += text.utf8
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes a sentence for people at once, broken between words where a terminal would break it within one.
  func note(_ text: String, after label: String? = nil) throws {
    let text = (label.map { $0 + " " + text } ?? text).wrapped(to: columns)
    try writeLine(label.map { style.red($0) + text.dropFirst($0.count) } ?? text)
    try flush()
  }

  /// How wide the terminal is; as wide as it likes where there is none or where it does not say.
  var columns: Int {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return .max }
    return Int(size.ws_col)
  }

  func writeLine(_ text: String) throws { try write(text + "\n") }

  /// Writes bytes without copying them.
  func write(_ data: Data) throws {
    try flush()
    try data.withUnsafeBytes { try writeNow($0) }
  }

  func flush() throws {
    defer { buffer.removeAll(keepingCapacity: true) }
    try buffer.withUnsafeBytes { try writeNow($0) }
  }

  private func writeNow(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:  // Somebody who shares the descriptor has made it non-blocking.
        var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&wait, 1, -1)
      case EPIPE: throw OutputClosed()
      case let code:
        throw CommandError(
          .failure, "inputOutput", "The output could not be written: \(String(cString: strerror(code))).")
      }
    }
  }
}
