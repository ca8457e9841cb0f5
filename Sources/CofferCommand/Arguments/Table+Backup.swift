import CofferTerminal

extension Table {
  static let backup = Syntax(
    summary: "copy the store into a file while it is in use",
    operands: [
      Syntax.Operand(name: "FILE", completion: .files, summary: "the path of the backup", isRequired: true)
    ],
    options: [.overwrite] + Option.ofReadStore + [.json],
    details: [
      """
      The backup is a consistent snapshot, even while other programs write. It is
      written beside FILE, synced and checked as a whole, and only then moved there.
      """,
      """
      The backup of an SQLite store is a database, that of files or preferences a
      database with their values, and that of a sealed file another sealed file. A
      keyring has no backup: 'coffer cp' copies its secrets into a sealed file.
      """,
      """
      An encrypted store stays encrypted and needs no key. With one, it is checked
      that the key opens it.
      """,
    ],
    examples: [
      Syntax.Example("coffer backup app.backup", "the default store"),
      Syntax.Example("coffer backup app.backup --overwrite", "replace the last one"),
      Syntax.Example("coffer backup p.db --store prefs:shop", "preferences, with their types"),
    ],
    aliases: ["save-to", "export", "dump", "snapshot"])

  static let restore = Syntax(
    summary: "replace the store with a backup",
    operands: [Syntax.Operand(name: "FILE", completion: .files, summary: "the backup", isRequired: true)],
    options: [.takeOver, .discard, .decrypt, .yes] + Option.ofStore + [.json],
    details: [
      """
      The backup is checked as a whole before anything changes. The replaced data is
      kept beside the store, under a name that is printed, unless --discard is given.
      A store that is open elsewhere is refused, unless --take-over is given:
      programs that have it open must then reopen it.
      """,
      """
      Files and preferences may be open: the backup is restored in one commit, which
      other programs see as any other.
      """,
      """
      A backup without encryption does not replace an encrypted store, unless
      --decrypt is given: its values are then stored in plain. An encrypted one
      opens with the key of its time. If a key is given, it has to open the backup.
      """,
      """
      The command asks for confirmation; without a terminal, it needs --yes.
      """,
    ],
    examples: [
      Syntax.Example("coffer restore app.backup --yes", "the default store"),
      Syntax.Example("coffer restore app.backup --take-over --yes", "while it is in use"),
      Syntax.Example("coffer restore p.db --yes --store prefs:shop", "preferences"),
    ],
    aliases: ["recover", "import", "undump", "rollback"])
}
