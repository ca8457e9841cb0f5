import CofferTerminal

/// The syntax and help of each command. Help fits a terminal of 80 columns.
enum Table {
  private typealias Operand = Syntax.Operand
  private typealias Example = Syntax.Example

  static let set = Syntax(
    summary: "store a value",
    operands: [
      Operand(name: "KEY", completion: .listed, summary: "its name: 1 to 1,024 bytes of UTF-8", isRequired: true),
      Operand(name: "VALUE", summary: "the bytes to store; - reads standard input", isValue: true),
    ],
    options: [.file, .relaxed, .type, .expires, .encrypted] + Option.ofStore + [.anchorFile, .json],
    details: [
      """
      Without VALUE, the value is read from a pipe or a redirected file. It is stored
      byte for byte: nothing is trimmed or added. Other users can see arguments while
      the command runs, so pass a secret through a pipe or a file.
      """,
      """
      The store is created if it is missing. When the command ends, the value is
      safe from power loss, unless --relaxed was given.
      """,
      """
      A new preference (--store prefs:SUITE) is text; an existing one keeps its type,
      and a value of another is refused. --type sets the type.
      """,
      """
      A value with --expires is absent for every reader from that moment on, and its
      bytes are removed later. Setting the key again replaces the expiry.
      """,
      """
      Where only some values are encrypted, a new one is plain, unless --encrypted is
      given. A value for which a key is given is never stored in plain.
      """,
    ],
    examples: [
      Example("coffer set theme dark", "store four bytes"),
      Example("coffer set logo --file logo.png", "store a file"),
      Example("date | coffer set built -", "the output of another command"),
      Example("coffer set n 7 --type number --store prefs:a", "a preference"),
      Example("coffer set -- -x 1", "-- ends the options"),
      Example("coffer set dash -- -", "after --, - is a plain value"),
    ],
    aliases: ["put", "write", "store", "save", "add"])

  static let get = Syntax(
    summary: "print a value",
    operands: [Operand(name: "KEY", completion: .listed, summary: "the key to read", isRequired: true)],
    options: Option.ofReadStore + [.anchorFile, .json],
    details: [
      """
      Prints exactly the bytes that were stored. On a terminal, a missing line end is
      added and binary data is refused. The status is 3 if the key is absent.
      """,
      """
      --json prints key, size, revision, base64 and, if the value is UTF-8, text.
      """,
    ],
    examples: [
      Example("coffer get theme", "print a value"),
      Example("coffer get logo > copy.png", "copy it into a file, byte for byte"),
      Example("coffer get theme --json", "with its revision, for scripts"),
    ],
    aliases: ["read", "cat", "show", "fetch"])

  static let rm = Syntax(
    summary: "remove keys",
    operands: [Operand(name: "KEY", completion: .listed, summary: "the keys to remove", repeats: true)],
    options: [.prefix, .yes] + Option.ofStore + [.anchorFile, .json],
    details: [
      """
      All keys are removed in one atomic commit. A missing key is not an error;
      --json lists which keys existed. --prefix asks for confirmation; without a
      terminal, it needs --yes.
      """
    ],
    examples: [
      Example("coffer rm theme", "remove one key"),
      Example("coffer rm built logo --json", "remove two, and list which existed"),
      Example("coffer rm --prefix tmp/ --yes", "remove all keys that start with tmp/"),
    ],
    aliases: ["remove", "delete", "del", "unset", "clear"])

  static let ls = Syntax(
    summary: "list keys",
    operands: [Operand(name: "PREFIX", completion: .listed, summary: "only keys that start with it")],
    options: [.long, .null] + Option.ofReadStore + [.anchorFile, .json],
    details: [
      """
      Keys are sorted by their bytes. On a terminal, control characters are escaped;
      elsewhere keys are printed as they are, so use -0 or --json if a key may
      contain a line end.
      """,
      """
      A damaged value is listed as damaged and does not stop the listing; the status
      is then 1.
      """,
    ],
    examples: [
      Example("coffer ls", "all keys"),
      Example("coffer ls --long settings/", "with size and revision"),
      Example("coffer ls -0 tmp/ | xargs -0 -r coffer rm --", "safe for any key"),
    ],
    aliases: ["list", "dir"])

  static let cp = Syntax(
    summary: "copy all values into another store",
    operands: [
      Operand(name: "FROM", completion: .locations, summary: "the store to read, which must exist", isRequired: true),
      Operand(name: "TO", completion: .locations, summary: "the store to write; created if missing", isRequired: true),
    ],
    options: [.prefix, .readOnly, .ignoreForeign, .decrypt] + Option.ofEncryption + Option.ofKey + Option.ofSecondKey
      + [.json],
    details: [
      """
      FROM and TO are locations, as 'coffer help' lists them. The copy is a snapshot
      of FROM, even while other programs write. Keys that exist in TO are
      overwritten; its other keys remain. --read-only concerns FROM.
      """,
      """
      A value that TO already has is not written again. So after Ctrl-C or a
      failure, run the same command again to copy the rest.
      """,
      """
      What FROM encrypts or keeps as a secret is stored in plain only with --decrypt.
      """,
      """
      A value that is damaged in FROM, or too large for TO, is reported on standard
      error and skipped; the status is then 1.
      """,
    ],
    examples: [
      Example("coffer cp app.db backup.db", "copy everything"),
      Example("coffer cp app.db new.db --prefix settings/", "only some of the keys"),
      Example("coffer cp app.db file:settings", "a file per key, to read and edit"),
      Example("coffer cp app.db memory: --json", "a dry run"),
    ],
    aliases: ["copy", "clone", "duplicate"])

  static let watch = Syntax(
    summary: "print changes as they happen",
    operands: [Operand(name: "PREFIX", completion: .listed, summary: "only keys that start with it")],
    options: [.since, .count] + Option.ofReadStore + [.anchorFile, .json],
    details: [
      """
      Prints one line per changed key: time, event, transaction, key. Ctrl-C ends it
      with status 0. The event is what a read of the key finds: put, deleted or
      damaged; a removed prefix is one line, cleared. Control characters in keys are
      escaped.
      """,
      """
      A reload means that some of the changes are not known: the journal no longer
      holds them, or an older copy of the store was put back. A line with the event
      present follows for each key that is there. --since also takes the position of
      an object of --json: a bare revision cannot tell an older copy from the same
      store.
      """,
    ],
    examples: [
      Example("coffer watch", "everything, until Ctrl-C"),
      Example("coffer watch --count 1 settings/", "wait for one change"),
      Example("coffer watch --since 0 --json", "from the first commit on, for scripts"),
    ],
    aliases: ["tail", "monitor", "follow", "listen"])

  static let info = Syntax(
    summary: "describe the store",
    options: Option.ofReadStore + [.anchorFile, .json],
    details: [
      """
      Counts the keys and adds up their sizes, without reading the values. Status 1
      means that damage or a loss was found, or that the store cannot be read.
      """
    ],
    examples: [
      Example("coffer info", "for people"),
      Example("coffer info --json", "for scripts"),
    ],
    aliases: ["stat", "stats", "status"])

  static let verify = Syntax(
    summary: "check every value",
    options: [.null, .acceptLoss, .upgrade, .acceptRollback] + Option.ofReadStore + [.anchorFile, .json],
    details: [
      """
      Reads every value once and compares its checksum. Only damaged keys are printed
      on standard output, one per line; standard error shows unreadable values and a
      summary. For SQLite, every page of the file is also checked, and that no row is
      missing.
      """,
      """
      A store that has lost commits is reported until --accept-loss, which accepts
      what can be read as its whole contents. It also rewrites damaged pages from
      what can be read of them. Keep a copy of the files first.
      """,
      """
      An encrypted store that is older than its anchor is refused. If a backup was
      restored on purpose, --accept-rollback with --anchor-file anchors it as it is:
      from then on the newer copy is refused. It also creates a lost anchor.
      """,
      """
      Status 0 means that no damage was found, 1 that something is damaged or could
      not be read.
      """,
    ],
    examples: [
      Example("coffer verify", "check the store"),
      Example("coffer verify -0 | xargs -0 -r coffer rm --", "remove what is damaged"),
      Example("coffer verify --accept-loss", "accept what is lost"),
      Example("coffer verify --json", "for scripts"),
    ],
    aliases: ["check", "fsck", "validate", "scrub", "test"])

  static let audit = Syntax(
    summary: "report what an application stores, where and how",
    operands: [
      Operand(
        name: "KEYS", completion: .locations, summary: "the file of declared keys; - for input", isRequired: true)
    ],
    options: [.html, .all, .readOnly] + Option.ofKey + [.ignoreForeign, .json],
    details: [
      """
      An application writes the file:
      try await router.manifest().encoded.write(to: file)
      """,
      """
      For every declared key, the report shows its store, its protection, its purpose
      and its owner, and the size and last change of its value on this machine. It
      also lists stored keys that are not declared; of many with a common beginning
      it shows that, their number and some of them. It contains no values.
      """,
      """
      Nothing is created or changed except by the recovery that opening a store
      performs; with --read-only, not even that. Status 1 means that a store could
      not be read.
      """,
    ],
    examples: [
      Example("coffer audit keys.json", "on a terminal"),
      Example("coffer audit keys.json --html report.html", "a page for people"),
      Example("coffer audit keys.json --json", "for scripts"),
    ],
    aliases: ["report", "inventory"])

  static let doctor = Syntax(
    summary: "find out why a store cannot be used",
    operands: [Operand(name: "STORE", completion: .locations, summary: "the stores to check", repeats: true)],
    options: Option.ofKey + [.json],
    details: [
      """
      Checks the system and each STORE; without one, the default store, the
      directory of preferences and the keyring. It reports what is wrong and what to
      do, changes nothing, and never prompts. A sealed store is opened if its
      passphrase is given by an option or by systemd.
      """,
      """
      Status 0 means that no problem was found; warnings do not count. Status 1 means
      that something cannot be used.
      """,
    ],
    examples: [
      Example("coffer doctor", "the whole desktop"),
      Example("coffer doctor app.db prefs:shop", "these stores"),
      Example("coffer doctor keychain:shop+sealed:shop.sealed", "stores of secrets"),
      Example("coffer doctor --json", "for scripts"),
    ],
    aliases: ["diagnose", "troubleshoot", "health"])

  static let completions = Syntax(
    summary: "print completions for bash",
    details: ["The completions cover commands, options, files, and the keys of the store."],
    examples: [
      Example("source <(coffer completions)", "in ~/.bashrc")
    ],
    aliases: ["completion"])

  static let help = Syntax(
    summary: "show help",
    operands: [Operand(name: "COMMAND", completion: .commands, summary: "the command to explain")],
    examples: [Example("coffer help set", "the same as coffer set --help")])

  static let version = Syntax(
    summary: "show the version", options: [.json], examples: [Example("coffer version", "the same as coffer --version")]
  )
}
