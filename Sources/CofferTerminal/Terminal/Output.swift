package import Foundation

/// Standard output or standard error: buffered, and every failure is noticed.
package final class Output {
  private static let capacity = 64 << 10

  private let descriptor: Int32
  private var buffer: [UInt8] = []

  package let style: Style
  package let isTerminal: Bool

  package init(_ descriptor: Int32) {
    self.descriptor = descriptor
    style = Style(for: descriptor)
    isTerminal = isatty(descriptor) == 1
  }

  package static var standard: Output { Output(STDOUT_FILENO) }
  package static var error: Output { Output(STDERR_FILENO) }

  package func write(_ text: String) throws {
    buffer += text.utf8
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes a sentence for people at once, broken between words where a terminal would break it within one.
  package func note(_ text: String, after label: String? = nil) throws {
    let text = (label.map { $0 + " " + text } ?? text).wrapped(to: columns)
    try writeLine(label.map { style.red($0) + text.dropFirst($0.count) } ?? text)
    try flush()
  }

  /// How wide the terminal is; as wide as it likes where there is none or where it does not say.
  package var columns: Int {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return .max }
    return Int(size.ws_col)
  }

  package func writeLine(_ text: String) throws { try write(text + "\n") }

  /// Writes a sentence, broken between words where a terminal would break it within one.
  package func writeText(_ text: String, style paint: (String) -> String = { $0 }) throws {
    for line in text.wrapped(to: columns).loosened.split(separator: "\n", omittingEmptySubsequences: false) {
      try writeLine(paint(String(line)))
    }
  }

  /// Writes bytes without copying them.
  package func write(_ data: Data) throws {
    try flush()
    try data.withUnsafeBytes { try writeNow($0) }
  }

  package func flush() throws {
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

/// Prints one line of JSON.
package func print(_ json: JSON) throws { try printLine(json.line) }

/// Prints a sentence, broken between words where a terminal would break it within one.
package func printText(_ text: String) throws {
  let output = Output.standard
  try output.writeText(text)
  try output.flush()
}

/// Prints a line; unlike Swift's own, it notices when that fails.
package func printLine(_ text: String) throws {
  let output = Output.standard
  try output.writeLine(text)
  try output.flush()
}
