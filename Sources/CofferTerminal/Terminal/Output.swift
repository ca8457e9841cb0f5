public import Foundation

/// A buffered writer to standard output or standard error that reports every failure.
///
/// ```swift
/// let output = Output.standard
/// for note in notes {
///   try output.writeLine("\(output.style.bold(note.name.oneLine()))  \(byteCount(note.size))")
/// }
/// try output.flush()
/// ```
///
/// Text is written once 64 KiB are buffered, and by ``flush()``. Text that is not flushed is lost when the output is
/// deallocated. Methods that write throw ``CommandError`` with ``ExitStatus/failure`` if writing fails, as on a full
/// disk. If the reader of a pipe has closed it, they throw an error with which ``ProgramCommand/main(_:)`` ends the
/// program quietly. An output is not thread-safe: only one thread at a time may use it.
public final class Output {
  private static let capacity = 64 << 10

  private let descriptor: Int32
  private var buffer: [UInt8] = []

  /// The style that suits the output: on only if it is a terminal that supports colours.
  public let style: Style
  /// Whether the output is a terminal.
  public let isTerminal: Bool

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    style = Style(for: descriptor)
    isTerminal = isatty(descriptor) == 1
  }

  /// A writer to standard output, with a new buffer for each access.
  public static var standard: Output { Output(STDOUT_FILENO) }

  /// A writer to standard error, with a new buffer for each access.
  public static var error: Output { Output(STDERR_FILENO) }

  /// Writes text without change.
  public func write(_ text: String) throws {
    buffer += text.utf8
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes a sentence for people, wrapped between words to the width of the terminal, and flushes the output.
  ///
  /// - Parameters:
  ///   - text: the sentence, without a newline.
  ///   - label: the text to print in front of it, in red: `notes:`.
  public func note(_ text: String, after label: String? = nil) throws {
    let text = (label.map { $0 + " " + text } ?? text).wrapped(to: columns)
    try writeLine(label.map { style.red($0) + text.dropFirst($0.count) } ?? text)
    try flush()
  }

  /// The current width of the terminal; `Int.max` if there is no terminal or it does not report its width.
  public var columns: Int {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return .max }
    return Int(size.ws_col)
  }

  /// Writes text and a newline.
  public func writeLine(_ text: String) throws { try write(text + "\n") }

  /// Writes a sentence and a newline, wrapped between words to the width of the terminal.
  ///
  /// - Parameters:
  ///   - text: the sentence. Lines are not broken at the no-break spaces of `glued`.
  ///   - paint: styles each line, which is passed without its newline.
  public func writeText(_ text: String, style paint: (String) -> String = { $0 }) throws {
    for line in text.wrapped(to: columns).loosened.split(separator: "\n", omittingEmptySubsequences: false) {
      try writeLine(paint(String(line)))
    }
  }

  /// Writes the buffered text, then the bytes immediately and without copying them.
  public func write(_ data: Data) throws {
    try flush()
    try data.withUnsafeBytes { try writeNow($0) }
  }

  /// Writes the buffered text. The buffer is empty afterwards, even if this throws.
  public func flush() throws {
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
      case EAGAIN:  // Another process that shares the descriptor has made it non-blocking.
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

/// Prints JSON on standard output, as one line.
///
/// - Throws: What ``Output`` throws.
public func print(_ json: JSON) throws { try printLine(json.line) }

/// Prints a sentence on standard output, wrapped between words to the width of the terminal.
///
/// - Throws: What ``Output`` throws.
public func printText(_ text: String) throws {
  let output = Output.standard
  try output.writeText(text)
  try output.flush()
}

/// Prints a line on standard output. Unlike `Swift.print`, it throws if that fails.
///
/// - Throws: What ``Output`` throws.
public func printLine(_ text: String) throws {
  let output = Output.standard
  try output.writeLine(text)
  try output.flush()
}
