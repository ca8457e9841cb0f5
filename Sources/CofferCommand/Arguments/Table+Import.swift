import CofferTerminal

extension Table {
  static let importValues = Syntax(
    summary: "store what another library has stored",
    operands: [
      Syntax.Operand(
        name: "SOURCE", completion: .files, summary: "the directory, file, prefs:SUITE or keychain:SERVICE",
        isRequired: true),
      Syntax.Operand(
        name: "STORE", completion: .locations, summary: "the store: PATH or KIND:ADDRESS; created if missing",
        isRequired: true),
    ],
    options: [
      .encoding, .map, .onlyMapped, .onConflict, .table, .keyColumn, .valueColumn, .remove, .dryRun,
    ] + Option.ofKey + [.ignoreForeign, .json],
    details: [
      """
      The name of a file, of an entry or in the key column becomes the key, unless
      --map OLD=NEW gives another; one * in both stands for the same text. --map can
      be given several times, and the first one that matches is used.
      """,
      """
      --encoding says how the values were stored: bytes (as they are, the default),
      json (text is in quotation marks), json-data (base64 in these), stored-object
      (JSON with a value and a transaction id), stored-json or stored-data (these
      inside of that). Take values of several encodings in several runs, each with
      --map and --only-mapped.
      """,
      """
      Each value is read back and compared. A key that has another value is reported
      and keeps it; the status is then 1. --remove deletes each file of a directory
      or item of a keyring once the store has its value safely, and only if it has
      not changed since.
      """,
      """
      A file that begins with { has an object of JSON on each line: a key, and a
      text or base64, such as those of 'get --json'. Links, pipes and
      subdirectories are not read. After Ctrl-C or a failure, run
      the same command again to continue.
      """,
    ],
    examples: [
      Syntax.Example("coffer import state app.db --encoding json --dry-run", "a dry run"),
      Syntax.Example("coffer import state app.db --map 'ui.*=ui/*'", "other names"),
      Syntax.Example("coffer import prefs.plist prefs:com.example.app", "preferences"),
      Syntax.Example("coffer import values.jsonl app.db", "lines of JSON"),
      Syntax.Example(
        "coffer import old.db app.db --table kv --keys k --values v", "a table"),
    ],
    aliases: ["take-over", "adopt"])
}
