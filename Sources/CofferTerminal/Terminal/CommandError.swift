public import CofferCore

/// An error that ends a command, with the text to print and the status to exit with.
///
/// ```swift
/// guard let note = notes[name] else {
///   throw CommandError(
///     .notFound, "noteNotFound", "There is no note '\(name.oneLine())'.", advice: "'notes list' shows all.")
/// }
/// ```
///
/// ``ProgramCommand/main(_:)`` prints it, for people or as JSON, and ends the process with its status.
public struct CommandError: Error {
  /// The status to exit with.
  public let status: ExitStatus
  /// The kind of the failure, for scripts: a stable word such as `noteNotFound`.
  public let code: String
  /// What happened, as a sentence.
  public let message: String
  /// What to do next, as a sentence; may be empty.
  public var advice = ""
  /// The key that the error is about, if any.
  public var key: KeyName?
  /// The location of the store that the error is about, if any.
  public var store: String?
  /// The complete text for people, in one or two sentences; the message and the advice by default.
  public var text: String

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - status: the status to exit with.
  ///   - code: the kind of the failure, for scripts.
  ///   - message: what happened, as a sentence. Escape foreign text in it with `oneLine()`.
  ///   - advice: what to do next, as a sentence.
  ///   - key: the key that the error is about.
  ///   - store: the store that the error is about.
  public init(
    _ status: ExitStatus, _ code: String, _ message: String, advice: String = "", key: KeyName? = nil,
    store: String? = nil
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.advice = advice
    self.key = key
    self.store = store
    text = advice.isEmpty ? message : "\(message) \(advice)"
  }

  /// Creates a command error from any error.
  ///
  /// A ``CommandError`` is unchanged; any other error has the status ``ExitStatus/failure``. A `StorageError` keeps its
  /// code, message and advice. An error of another type has the code `unknown` and its description as the message.
  public init(_ error: any Error) {
    switch error {
    case let error as CommandError: self = error
    case let error as StorageError:
      // `notFound` does not become `ExitStatus.notFound` either: a command that looks for something throws that itself.
      self.init(
        .failure, error.code.description, error.message, advice: error.advice,
        key: error.key, store: error.location.isEmpty ? nil : error.location)
      text = error.description
    default: self.init(.failure, "unknown", "\(error)")
    }
  }

  /// A subject of errors, which is a member of their JSON if ``Program/subjects`` declares it.
  public enum Subject: Sendable {
    /// The member `key`: ``CommandError/key``.
    case key
    /// The member `store`: ``CommandError/store``.
    case store
  }

  /// Returns the error as `{"error": ...}`. The members of `subjects` are always present; those that are not set are
  /// `null`.
  package func json(_ subjects: [Subject]) -> JSON {
    let members = subjects.map { subject -> (StaticString, JSON) in
      switch subject {
      case .key: ("key", .optional(key?.string))
      case .store: ("store", .optional(store))
      }
    }
    let words: [(StaticString, JSON)] = [("code", .text(code)), ("message", .text(message)), ("advice", .text(advice))]
    return .object([("error", .object(words + members))])
  }
}

/// The error that ``Output`` throws if the reader of a pipe has closed it, as `head` does.
///
/// ``ProgramCommand/main(_:)`` then exits with ``ExitStatus/ok`` and prints nothing.
package struct OutputClosed: Error {
  package init() {}
}
