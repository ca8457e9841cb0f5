import Coffer
import CofferTerminal

/// A value that a command passed over, and why. It never holds the value.
struct Skipped: Sendable {
  let key: StoreKey
  let error: StorageError

  /// Whether its bytes are not those that were written; otherwise it could not be read, or not be written.
  var isDamaged: Bool { error.code == .damaged }

  var json: JSON {
    .object([
      ("key", .text(key.string)), ("code", .text(error.code.description)), ("message", .text(error.message)),
    ])
  }
}
