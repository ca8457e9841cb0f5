public import CofferCore

/// An error that ends a command: what to print, and the status to exit with.
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
  /// What kind of failure it is, for scripts: a word that never changes, such as `noteNotFound`.
  public let code: String
  /// What happened, as a sentence.
  public let message: String
  /// What to do about it, as a sentence; may be empty.
  public var advice = ""
  /// The key that the error is about.
  public var key: StoreKey?
  /// The store that the error is about.
  public var store: String?
  /// The whole in one sentence or two, for people: message and advice, unless it is set to something else.
  public var text: String

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - status: the status to exit with.
  ///   - code: what kind of failure it is, for scripts.
  ///   - message: what happened, as a sentence. Escape what others have written with `oneLine()`.
  ///   - advice: what to do about it, as a sentence.
  ///   - key: the key that the error is about.
  ///   - store: the store that the error is about.
  public init(
    _ status: ExitStatus, _ code: String, _ message: String, advice: String = "", key: StoreKey? = nil,
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

  /// Converts any error.
  ///
  /// A ``CommandError`` stays as it is. A ``UsageError`` has the status ``ExitStatus/usage``, any other error
  /// ``ExitStatus/failure``. A `StorageError` keeps its code, message and advice; an error of another type has the code
  /// `unknown` and its description as the message.
  public init(_ error: any Error) {
    switch error {
    case let error as CommandError: self = error
    case let error as UsageError: self.init(.usage, "usage", error.message, advice: error.advice)
    case let error as StorageError:
      // Not even `notFound` is "there is no such thing": whoever has looked says that by itself.
      self.init(
        .failure, error.code.description, error.message, advice: error.advice,
        key: error.key, store: error.backend.isEmpty ? nil : error.backend)
      text = error.description
    default: self.init(.failure, "unknown", "\(error)")
    }
  }

  /// What an error may be about: a member of its JSON, for ``Program/subjects``.
  public enum Subject: Sendable {
    /// The member `key`: ``CommandError/key``.
    case key
    /// The member `store`: ``CommandError/store``.
    case store
  }

  /// `{"error": ...}`, with these subjects even where there are none, so that a script finds them.
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

/// The error of ``Output`` when the reader of a pipe has closed it, as `head` does.
///
/// Let it pass: ``ProgramCommand/main(_:)`` ends the process with ``ExitStatus/ok`` and prints nothing.
public struct OutputClosed: Error {}
