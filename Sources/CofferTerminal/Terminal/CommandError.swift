package import CofferCore

/// Ends the command: what to say, and with which status.
package struct CommandError: Error {
  package let status: ExitStatus
  package let code: String
  package let message: String
  package var advice = ""
  package var key: Key?
  package var store: String?
  /// The whole in one sentence or two, for people.
  package var text: String

  package init(
    _ status: ExitStatus, _ code: String, _ message: String, advice: String = "", key: Key? = nil, store: String? = nil
  ) {
    self.status = status
    self.code = code
    self.message = message
    self.advice = advice
    self.key = key
    self.store = store
    text = advice.isEmpty ? message : "\(message) \(advice)"
  }

  /// Any error as one that can be printed.
  package init(_ error: any Error) {
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

  /// What an error may be about.
  package enum Subject: Sendable { case key, store }

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

/// The reader of our output has left; nobody needs to hear of it.
package struct OutputClosed: Error {
  package init() {}
}
