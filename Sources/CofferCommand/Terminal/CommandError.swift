import Coffer

/// Ends the command: what to say, and with which status.
struct CommandError: Error {
  let status: ExitStatus
  let code: String
  let message: String
  var advice = ""
  var key: Key?
  var store: String?
  /// The whole in one sentence or two, for people.
  var text: String

  init(
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
  init(_ error: any Error) {
    switch error {
    case let error as CommandError: self = error
    case let error as UsageError: self.init(.usage, "usage", error.message, advice: error.advice)
    case let error as StorageError:
      self.init(
        error.code == .notFound ? .notFound : .failure, error.code.description, error.message, advice: error.advice,
        key: error.key, store: error.backend.isEmpty ? nil : error.backend)
      text = error.description
    default: self.init(.failure, "unknown", "\(error)")
    }
  }

  /// `{"error": ...}`
  var json: JSON {
    .object([
      (
        "error",
        .object([
          ("code", .text(code)), ("message", .text(message)), ("advice", .text(advice)),
          ("key", .optional(key?.string)), ("store", .optional(store)),
        ])
      )
    ])
  }
}

/// The reader of our output has left; nobody needs to hear of it.
struct OutputClosed: Error {}
