public import Foundation

/// Standard output or standard error: buffered, and every failure is reported.
///
/// ```swift
/// let output = Output.standard
/// for note in notes {
///   try output.writeLine("\(output.style.bold(note.name.oneLine()))  \(byteCount(note.size))")
/// }
/// try output.flush()
/// ```
///
/// Text is written when 64 KiB are waiting, and by ``flush()``: what is not flushed is lost with the last reference.
/// Whatever writes throws ``OutputClosed`` when the reader of a pipe has closed it, and ``CommandError`` with
/// ``ExitStatus/failure`` when writing fails, such as on a full disk. One thread at a time may use an output.
public final class Output {
  private static let capacity = 64 << 10

  private let descriptor: Int32
  private var buffer: [UInt8] = []

  /// The colours that suit the output: none unless it is a terminal that shows them.
  public let style: Style
  /// Whether the output is a terminal.
  public let isTerminal: Bool

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    style = Style(for: descriptor)
    isTerminal = isatty(descriptor) == 1
  }

  /// Standard output: a new buffer each time.
  public static var standard: Output { Output(STDOUT_FILENO) }

  /// Standard error: a new buffer each time.
  public static var error: Output { Output(STDERR_FILENO) }

  /// Writes text as it is.
  public func write(_ text: String) throws {
    buffer += text.utf8
    if buffer.count >= Self.capacity { try flush() }
  }

  /// Writes a sentence for people at once, broken between words where a terminal would break it within one.
  ///
  /// - Parameters:
  ///   - text: the sentence, without a line end.
  ///   - label: what to print in front of it, in red: `notes:`.
  public func note(_ text: String, after label: String? = nil) throws {
    let text = (label.map { $0 + " " + text } ?? text).wrapped(to: columns)
    try writeLine(label.map { style.red($0) + text.dropFirst($0.count) } ?? text)
    try flush()
  }

  /// The width of the terminal at the moment; `Int.max` where there is no terminal or it does not say.
  public var columns: Int {
    var size = winsize()
    guard isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return .max }
    return Int(size.ws_col)
  }

  /// Writes text and a line end.
  public func writeLine(_ text: String) throws { try write(text + "\n") }

  /// Writes a sentence and a line end, broken between words where a terminal would break it within one.
  ///
  /// - Parameters:
  ///   - text: the sentence. Blanks that `glued` has made do not end a line.
  ///   - paint: styles each line, which has no line end.
  public func writeText(_ text: String, style paint: (String) -> String = { $0 }) throws {
    for line in text.wrapped(to: columns).loosened.split(separator: "\n", omittingEmptySubsequences: false) {
      try writeLine(paint(String(line)))
    }
  }

  /// Writes bytes at once, without copying them, after what waits in the buffer.
  public func write(_ data: Data) throws {
    try flush()
    try data.withUnsafeBytes { try writeNow($0) }
  }

  /// Writes what waits in the buffer, which is empty afterwards, even if it throws.
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

/// Prints JSON on standard output, as one line.
///
/// - Throws: What ``Output`` throws.
public func print(_ json: JSON) throws { try printLine(json.line) }

/// Prints a sentence on standard output, broken between words where a terminal would break it within one.
///
/// - Throws: What ``Output`` throws.
public func printText(_ text: String) throws {
  let output = Output.standard
  try output.writeText(text)
  try output.flush()
}

/// Prints a line on standard output. Unlike Swift's own function, it reports when that fails.
///
/// - Throws: What ``Output`` throws.
public func printLine(_ text: String) throws {
  let output = Output.standard
  try output.writeLine(text)
  try output.flush()
}
