import Coffer
import CofferTerminal

/// A value that a command skipped, with the reason. The value itself is not kept, so it cannot be printed.
struct Skipped: Sendable {
  let key: KeyName
  let error: StorageError

  /// Whether the stored bytes are not those that were written; if not, the value could not be read or written.
  var isDamaged: Bool { error.code == .damaged }

  var json: JSON {
    .object([
      ("key", .text(key.string)), ("code", .text(error.code.description)), ("message", .text(error.message)),
    ])
  }
}
