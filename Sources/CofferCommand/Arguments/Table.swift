import CofferTerminal

/// The commands, as data.
enum Table {
  private typealias Operand = Syntax.Operand
  private typealias Example = Syntax.Example

  static let set = Syntax(
    summary: "store a value",
    operands: [
      Operand(name: "KEY", completion: .listed, summary: "its name: 1 to 1,024 bytes of UTF-8", isRequired: true),
      Operand(name: "VALUE", summary: "the bytes to store; - reads standard input", isValue: true),
    ],
    options: [.file, .relaxed, .type] + Option.ofStore + [.json],
    details: [
      """
      Without VALUE the value comes from a pipe or a redirected file. It is stored
      byte by byte: nothing is trimmed, nothing is added. Arguments can be seen by
      other users while the command runs, so give a secret through a pipe or a file.
      """,
      """
      The store is created if it is missing. When the command ends, the value has
      survived power loss, unless it was --relaxed.
      """,
      """
      A new preference (--store prefs:SUITE) is text, and an old one keeps its type
      where the value can be of it. --type says which type it is to have.
      """,
    ],
    examples: [
      Example("coffer set theme dark", "store four bytes"),
      Example("coffer set logo --file logo.png", "store a file"),
      Example("date | coffer set built -", "what another command prints"),
      Example("coffer set n 7 --type number --store prefs:a", "a preference"),
      Example("coffer set -- -x 1", "-- ends the options"),
      Example("coffer set dash -- -", "after -- it is just a dash"),
    ],
    aliases: ["put", "write", "store", "save", "add"])

  static let get = Syntax(
    summary: "print a value",
    operands: [Operand(name: "KEY", completion: .listed, summary: "the key to read", isRequired: true)],
    options: Option.ofStore + [.json],
    details: [
      """
      Prints exactly the bytes that were stored. On a terminal a missing line end is
      added, and binary data is refused. An absent key ends with status 3.
      """,
      """
      --json gives key, size, revision, base64 and, where the value is UTF-8, text.
      """,
    ],
    examples: [
      Example("coffer get theme", "print a value"),
      Example("coffer get logo > copy.png", "copy it into a file, byte by byte"),
      Example("coffer get theme --json", "with its revision, for scripts"),
    ],
    aliases: ["read", "cat", "show", "fetch"])

  static let rm = Syntax(
    summary: "remove keys",
    operands: [Operand(name: "KEY", completion: .listed, summary: "the keys to remove", repeats: true)],
    options: [.prefix, .yes] + Option.ofStore + [.json],
    details: [
      """
      All keys go in one atomic commit. A missing key is not an error; --json tells
      which keys existed. --prefix asks first; where there is no terminal to ask on,
      it needs --yes.
      """
    ],
    examples: [
      Example("coffer rm theme", "remove one key"),
      Example("coffer rm built logo --json", "remove two at once, and tell which existed"),
      Example("coffer rm --prefix tmp/ --yes", "remove all keys that start with tmp/"),
    ],
    aliases: ["remove", "delete", "del", "unset", "clear"])

  static let ls = Syntax(
    summary: "list keys",
    operands: [Operand(name: "PREFIX", completion: .listed, summary: "only keys that start with it")],
    options: [.long, .null] + Option.ofStore + [.json],
    details: [
      """
      Keys come in the order of their bytes. On a terminal their control characters
      are escaped; elsewhere keys are printed as they are, so use -0 or --json where
      a key may contain a line end.
      """,
      """
      A damaged value is listed as damaged, does not stop the listing, and makes the
      command end with status 1.
      """,
    ],
    examples: [
      Example("coffer ls", "all keys"),
      Example("coffer ls --long settings/", "with size and revision"),
      Example("coffer ls -0 tmp/ | xargs -0 -r coffer rm --", "safe for any key"),
    ],
    aliases: ["list", "keys", "dir"])

  static let cp = Syntax(
    summary: "copy all values into another store",
    operands: [
      Operand(name: "FROM", completion: .locations, summary: "the store to read, which must exist", isRequired: true),
      Operand(name: "TO", completion: .locations, summary: "the store to write; created if missing", isRequired: true),
    ],
    options: [.prefix, .passphraseFile, .passphraseDescriptor, .json],
    details: [
      """
      FROM and TO are stores, as 'coffer help' lists them. What is copied is one
      state of FROM, whatever is written meanwhile. Keys that TO has too are
      overwritten; its other keys stay.
      """,
      """
      Copying again is cheap: a value that TO has already is not written. So after
      Ctrl-C or a failure, the same command copies the rest.
      """,
      """
      A value that is damaged in FROM, or too large for TO, is named on standard
      error and skipped, and makes the command end with status 1.
      """,
    ],
    examples: [
      Example("coffer cp app.db backup.db", "copy everything"),
      Example("coffer cp app.db new.db --prefix settings/", "only some of the keys"),
      Example("coffer cp app.db file:settings", "a file per key, to read and edit"),
      Example("coffer cp app.db memory: --json", "a trial that keeps nothing"),
    ],
    aliases: ["copy", "clone", "migrate", "duplicate"])

  static let watch = Syntax(
    summary: "print changes as they happen",
    operands: [Operand(name: "PREFIX", completion: .listed, summary: "only keys that start with it")],
    options: [.since, .count] + Option.ofStore + [.json],
    details: [
      """
      One line for each changed key: time, event, transaction, key. It ends on Ctrl-C
      with status 0. The event is what a read finds: put, deleted, or damaged; a
      removed prefix is one line, cleared. Control characters in keys are escaped.
      """,
      """
      A reload means that the journal no longer knows some changes one by one: read
      again what you hold.
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
    options: Option.ofStore + [.json],
    details: [
      """
      Reads every value once, to count and to check it. Status 1 means that damaged
      values were found.
      """
    ],
    examples: [
      Example("coffer info", "for people"),
      Example("coffer info --json", "for scripts"),
    ],
    aliases: ["stat", "stats", "status"])

  static let verify = Syntax(
    summary: "check every value",
    options: [.null, .acceptLoss, .upgrade] + Option.ofStore + [.json],
    details: [
      """
      Reads every value once and compares its checksum. Damaged keys are printed, one
      per line and nothing else; on standard error is which values could not be
      read, and a summary. For SQLite, each page of the file and that no row is
      missing is checked too.
      """,
      """
      A store that has lost commits says so until --accept-loss: then what can be read
      is all that there is. It also writes damaged pages anew from what can be read of
      them. Keep a copy of the files before.
      """,
      """
      Status 0 means that all is good, 1 that something is damaged or could not be
      read.
      """,
    ],
    examples: [
      Example("coffer verify", "check the store"),
      Example("coffer verify -0 | xargs -0 -r coffer rm --", "remove what is damaged"),
      Example("coffer verify --accept-loss", "go on without what is lost"),
      Example("coffer verify --json", "for scripts"),
    ],
    aliases: ["check", "fsck", "validate", "scrub", "test"])

  static let audit = Syntax(
    summary: "report what an application keeps, where and how",
    operands: [
      Operand(
        name: "KEYS", completion: .locations, summary: "the file with its declared keys; - for input", isRequired: true)
    ],
    options: [.html, .json],
    details: [
      """
      An application writes the file:
      try await router.manifest().encoded.write(to: file)
      """,
      """
      The report says of every declared key where it lives, how it is secured, what
      it is for and whose it is, how large its value on this machine is and when it
      was changed; and what is stored that nobody has declared. It holds no value.
      """,
      """
      Nothing is made or changed but what opening a store mends. Status 1 means that
      a home could not be looked at.
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
    operands: [Operand(name: "STORE", completion: .locations, summary: "the stores to look at", repeats: true)],
    options: [.passphraseFile, .passphraseDescriptor, .json],
    details: [
      """
      Looks at the system and at each STORE; without one, at the user's own store,
      the places of preferences and the keyring. It says what is wrong and what to
      do, changes nothing, and never asks for anything. A sealed store is opened
      where its passphrase is given by an option or by systemd.
      """,
      """
      Status 0 means that everything can be used; warnings do not count. Status 1
      means that something cannot.
      """,
    ],
    examples: [
      Example("coffer doctor", "all that a desktop has"),
      Example("coffer doctor app.db prefs:shop", "these stores"),
      Example("coffer doctor keychain:shop+sealed:shop.sealed", "homes for secrets"),
      Example("coffer doctor --json", "for scripts"),
    ],
    aliases: ["diagnose", "troubleshoot", "health"])

  static let completions = Syntax(
    summary: "print shell completions",
    operands: [Operand(name: "SHELL", completion: Shell.completion, summary: "bash, zsh or fish", isRequired: true)],
    details: ["They complete commands, options, files, and the keys of the store."],
    examples: [
      Example("source <(coffer completions bash)", "in ~/.bashrc"),
      Example("coffer completions zsh > _coffer", "into a folder of $fpath"),
      Example("coffer completions fish > coffer.fish", "into ~/.config/fish/completions"),
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
