public import Foundation

/// Notifications as lines of a terminal, log or pipe, such as "Allbirds: 3 price drops".
public actor TerminalChannel: NotificationChannel {
  /// The name in settings: "terminal".
  public nonisolated let name = "terminal"
  /// The channel's private queue, because writing to a stopped terminal blocks.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let executor = QueueExecutor(label: "watchify.terminal")
  private let isTerminal: Bool
  private let write: @Sendable (String) throws -> Void

  /// Creates a channel that writes to a file handle and does not close it.
  ///
  /// - Warning: Writing to a pipe without a reader terminates a process that does not ignore `SIGPIPE`.
  public init(fileHandle: FileHandle = .standardOutput) {
    isTerminal = isatty(fileHandle.fileDescriptor) != 0
    write = { try fileHandle.write(contentsOf: Data($0.utf8)) }
  }

  /// Creates a channel that passes lines to a closure.
  /// - Parameters:
  ///   - isTerminal: whether the output can sound a bell.
  ///   - write: called with each line, including its line feed.
  public init(isTerminal: Bool, write: @escaping @Sendable (String) throws -> Void) {
    self.isTerminal = isTerminal
    self.write = write
  }

  /// Returns `.available`; whether writing succeeds shows only on delivery.
  public func availability() async -> ChannelAvailability {
    .available(detail: isTerminal ? "terminal" : "standard output")
  }

  /// Writes one line, with a bell for a time-sensitive notification on a terminal.
  public func deliver(_ content: NotificationContent) async throws {
    let bell = isTerminal && content.priority == .timeSensitive ? "\u{7}" : ""
    let text = [content.title, content.body].filter { !$0.isEmpty }.joined(separator: ": ")
    do {
      try write(bell + text.escapedForTerminal + "\n")
    } catch {
      throw ChannelError("The notification could not be written: \(error.localizedDescription)", isTemporary: true)
    }
  }
}

extension String {
  /// The text in one line and without terminal control sequences: store names are untrusted.
  fileprivate var escapedForTerminal: String {
    var escaped = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": escaped += "\\n"
      case "\r": escaped += "\\r"
      case "\t": escaped += "\\t"
      case _ where scalar.isObeyed: escaped += "\\u{\(String(scalar.value, radix: 16))}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension Unicode.Scalar {
  /// Whether a terminal may interpret the scalar: control characters, line separators and bidirectional controls.
  fileprivate var isObeyed: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
    default: false
    }
  }
}
