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
