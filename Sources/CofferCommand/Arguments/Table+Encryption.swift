import CofferTerminal

extension Table {
  private static let store = Syntax.Operand(
    name: "STORE", completion: .locations, summary: "the store: PATH or KIND:ADDRESS", isRequired: true)

  /// Returns the syntax of a command on one STORE with its key, and with its anchor unless it changes the key.
  private static func command(
    _ summary: String, options: [Option] = [], newKey: [Option] = [], details: [String], examples: [Syntax.Example],
    aliases: [String]
  ) -> Syntax {
    let ofKey = Option.ofKey + (newKey.isEmpty ? [.anchorFile] : newKey)
    return Syntax(
      summary: summary, operands: [store], options: options + ofKey + [.ignoreForeign, .json], details: details,
      examples: examples, aliases: aliases)
  }

  static let encrypt = command(
    "encrypt the values of a store", options: Option.ofEncryption + [.acceptRollback],
    details: [
      """
      Close programs that have the store open; until it has finished, no program
      opens it. The key is key material of 32 bytes or more (--key-...) or a
      passphrase; with neither, a new passphrase is asked for twice. Without it
      nothing can be read again: keep a copy elsewhere.
      """,
      """
      Interrupted, no value is lost, and the same command continues, also after an
      interrupted 'coffer decrypt'. It takes every plain value for yours: if a command
      says that one of the two is unfinished and nobody has begun it, restore a
      backup instead.
      """,
      """
      The files of a store of up to 16 MiB are then freed of the plain values; those
      of a larger one by 'coffer rotate STORE --scrub'. Backups, snapshots and the
      quarantine keep them.
      """,
      """
      Afterwards each command opens the store as an encrypted one by itself. With
      --anchor-file, an older copy of it is refused; if the anchor knows an encrypted
      store and this one is in plain, --accept-rollback is needed.
      """,
    ],
    examples: [
      Syntax.Example("(umask 77; head -c 32 /dev/urandom > app.key)", "create a key"),
      Syntax.Example("coffer encrypt app.db --key-file app.key", "under that key"),
      Syntax.Example("coffer encrypt n.db --hide-names --passphrase-file words", "a passphrase"),
    ],
    aliases: ["seal", "lock", "protect"])

  static let decrypt = command(
    "store the values of an encrypted store in plain", options: [.yes],
    details: [
      """
      Until it has finished, no program opens the store. Interrupted, no value is
      lost, and the same command continues. It asks for confirmation; without a
      terminal, it needs --yes.
      """,
      """
      If the store has an anchor, remove that afterwards: it refuses the plain store.
      """,
    ],
    examples: [
      Syntax.Example("coffer decrypt app.db --yes --key-file app.key", "without a question")
    ],
    aliases: ["unseal", "unlock", "unprotect"])

  static let rotate = command(
    "encrypt every value under a new data key", options: [.scrub],
    details: [
      """
      Programs can read and write the store meanwhile. When all values are done, the
      old data keys are removed. After Ctrl-C or a failure every value can still be
      read, and the same command removes the keys of both runs.
      """,
      """
      The files of a store of more than 16 MiB may still hold the old keys, in free
      pages and the log: --scrub rewrites them instead. Writers wait meanwhile.
      """,
      """
      The key or passphrase that opens the store stays the same: 'coffer rekey'
      changes it.
      """,
    ],
    examples: [
      Syntax.Example("coffer rotate app.db --key-file app.key", "a new data key")
    ],
    aliases: ["reencrypt", "renew", "roll"])

  static let rekey = command(
    "change the key, passphrase or label that opens a store", newKey: Option.ofSecondKey,
    details: [
      """
      The --to-... options name the new key, the others the present one. Without a
      --to-... option, a new passphrase is asked for twice. No value is rewritten,
      and programs that have the store open must reopen it. --to-label alone changes
      the label, as after the store was renamed, and keeps the key.
      """,
      """
      Earlier copies and backups of the store still open with the old key. So does
      what the files of more than 16 MiB hold of the old key ring: 'coffer rotate
      STORE --scrub' rewrites them.
      """,
    ],
    examples: [
      Syntax.Example("coffer rekey app.db --key-file app.key --to-key-file new.key", "another key"),
      Syntax.Example("coffer rekey app.db --key-file new.key --to-key-file app.key", "and back"),
    ],
    aliases: ["passwd", "change-key", "chpass"])

  static let keys = command(
    "list the data keys of an encrypted store", options: [.readOnly],
    details: [
      """
      Shows the id, state, dates and age of each data key, and how many values are
      encrypted under it, which reads every value; and how the store is encrypted. It
      never shows a key.
      """
    ],
    examples: [
      Syntax.Example("coffer keys app.db --key-file app.key", "for people"),
      Syntax.Example("coffer keys app.db --key-file app.key --json", "for scripts"),
    ],
    aliases: ["keyring", "key"])

  static let shred = command(
    "erase the values of an encrypted store for good", options: [.dryRun, .continue, .yes],
    details: [
      """
      Destroys the data keys, so that nobody can open what they have encrypted, and
      then removes the values and rewrites the files. Plain values stay, and the
      store can be used afterwards. It asks for confirmation; without a terminal, it
      needs --yes. --dry-run changes nothing.
      """,
      """
      Killed in between, or if files cannot be rewritten, --continue finishes it, and
      asks nothing. Without that option, a second run erases what was written since,
      too.
      """,
      """
      Earlier copies of the store, such as backups and snapshots of the file system,
      still open with its key: destroy that key to erase them, too.
      """,
    ],
    examples: [
      Syntax.Example("coffer shred n.db --dry-run --passphrase-file words", "what it would erase"),
      Syntax.Example("coffer shred n.db --yes --passphrase-file words", "erase it"),
    ],
    aliases: ["erase", "wipe", "destroy"])
}
