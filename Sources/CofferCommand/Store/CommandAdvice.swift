import Coffer
import CofferEncryption

extension StorageError {
  /// What the advice of the library says in terms of Swift, and the same in terms of commands.
  private static let commands: [(swift: String, command: String)] = [
    (
      "(EncryptedEngine.Configuration.label)",
      "(--label LABEL; for good, with its key: coffer rekey STORE --label LABEL --to-label NEW)"
    ),
    ("with EncryptedEngine.encrypt", "with 'coffer encrypt STORE'"),
    ("with EncryptedEngine.decrypt", "with 'coffer decrypt STORE'"),
    ("with import(from:)", "with 'coffer import'"), ("set foreignData to .ignore", "give --ignore-foreign"),
    ("was deleted, .ignore rebuilds", "was deleted, --ignore-foreign rebuilds"),
    ("Reopen it with write access.", "Omit --read-only, where the store may be written."),
    (
      StorageError.acceptance,
      "If that was intended (a restored backup, a store that was moved), accept it once: coffer verify "
        + "--accept-rollback --anchor-file PATH, or coffer encrypt with these options for a store in plain. Otherwise "
        + "restore the newest copy. Nothing was changed."
    ),
  ]

  /// The error with the commands instead of the functions that its advice names.
  var advisingCommands: StorageError {
    let advice = Self.commands.reduce(advice) { $0.replacing($1.swift, with: $1.command) }
    guard advice != self.advice else { return self }
    return StorageError(code, message, advice: advice, location: location, key: key, underlying: underlying)
  }
}
