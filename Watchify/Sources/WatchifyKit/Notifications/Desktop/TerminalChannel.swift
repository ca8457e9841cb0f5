public import Foundation

/// Notifications as lines of a terminal, a log or a pipe: "Allbirds: 3 price drops".
public actor TerminalChannel: NotificationChannel {
  /// "terminal"
  public nonisolated let name = "terminal"
  /// A queue of the channel's own, because a stopped terminal keeps its writers waiting.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let executor = QueueExecutor(label: "watchify.terminal")
  private let isTerminal: Bool
  private let write: @Sendable (String) throws -> Void

  /// A channel that writes to a file, which it does not close.
  ///
  /// Writing to a pipe that nobody reads ends a process that does not ignore `SIGPIPE`.
  public init(fileHandle: FileHandle = .standardOutput) {
    isTerminal = isatty(fileHandle.fileDescriptor) != 0
    write = { try fileHandle.write(contentsOf: Data($0.utf8)) }
  }

  /// A channel that hands over lines.
  /// - Parameters:
  ///   - isTerminal: whether a bell is heard there.
  ///   - write: takes a line with its end.
  public init(isTerminal: Bool, write: @escaping @Sendable (String) throws -> Void) {
    self.isTerminal = isTerminal
    self.write = write
  }

  /// There is always a place to write to; whether it takes anything shows when it is written to.
  public func availability() async -> ChannelAvailability {
    .available(detail: isTerminal ? "terminal" : "standard output")
  }

  /// Writes one line; with a bell when it is time sensitive and somebody may hear it.
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
  /// In one line and without what a terminal obeys: names of stores come from the web.
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
  /// Control characters, ends of lines, and marks that turn the direction of what follows.
  fileprivate var isObeyed: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    case .format: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
    default: false
    }
  }
}
