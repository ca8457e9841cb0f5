import CofferTerminal

extension Table {
  static let backup = Syntax(
    summary: "copy the store into a file, while it is in use",
    operands: [
      Syntax.Operand(name: "FILE", completion: .files, summary: "where the backup is to be", isRequired: true)
    ],
    options: [.overwrite] + Option.ofStore + [.json],
    details: [
      """
      The backup is of one state of the store, whatever is written meanwhile. It is
      written beside FILE, synced and checked as a whole, and only then put there.
      """,
      """
      Of an SQLite store it is the database; of files and preferences, a database
      with their values; of a sealed file, a file that is as sealed. A keyring has
      no backup: 'coffer cp' copies its secrets into a sealed file.
      """,
    ],
    examples: [
      Syntax.Example("coffer backup app.backup", "the user's own store"),
      Syntax.Example("coffer backup app.backup --overwrite", "in the place of the last"),
      Syntax.Example("coffer backup p.db --store prefs:shop", "preferences, with their types"),
    ],
    aliases: ["save-to", "export", "dump", "snapshot"])

  static let restore = Syntax(
    summary: "put a backup in the place of the store",
    operands: [Syntax.Operand(name: "FILE", completion: .files, summary: "the backup", isRequired: true)],
    options: [.takeOver, .discard, .yes] + Option.ofStore + [.json],
    details: [
      """
      The backup is checked as a whole before anything is touched. What was there is
      kept beside the store, under a name that is printed, unless --discard is given.
      A store that is open somewhere is refused, unless --take-over is given: the
      programs that have it open then have to open it again.
      """,
      """
      Files and preferences may be open: they get what the backup holds in one
      commit, which other programs see as any other.
      """,
      """
      It asks first; where there is no terminal to ask on, it needs --yes.
      """,
    ],
    examples: [
      Syntax.Example("coffer restore app.backup --yes", "the user's own store"),
      Syntax.Example("coffer restore app.backup --take-over --yes", "while it is in use"),
      Syntax.Example("coffer restore p.db --yes --store prefs:shop", "preferences"),
    ],
    aliases: ["recover", "import", "undump", "rollback"])
}
