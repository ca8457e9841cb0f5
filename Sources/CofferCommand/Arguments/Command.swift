import Coffer
import CofferTerminal

/// A command of `coffer`; the raw value is the word that is typed.
enum Command: String, ProgramCommand {
  case set, get, rm, ls, cp, backup, restore, quarantine, watch, info, verify, audit, doctor
  case importValues = "import"
  case schema, postgresql
  case encrypt, rotate, rekey, keys, decrypt, shred, completions, help, version

  /// The operands, options and help of the command.
  var syntax: Syntax {
    switch self {
    case .set: Table.set
    case .get: Table.get
    case .rm: Table.rm
    case .ls: Table.ls
    case .cp: Table.cp
    case .backup: Table.backup
    case .restore: Table.restore
    case .quarantine: Table.quarantine
    case .watch: Table.watch
    case .info: Table.info
    case .verify: Table.verify
    case .audit: Table.audit
    case .doctor: Table.doctor
    case .importValues: Table.importValues
    case .schema: Table.schema
    case .postgresql: Table.postgresql
    case .encrypt: Table.encrypt
    case .decrypt: Table.decrypt
    case .rotate: Table.rotate
    case .rekey: Table.rekey
    case .keys: Table.keys
    case .shred: Table.shred
    case .completions: Table.completions
    case .help: Table.help
    case .version: Table.version
    }
  }

  /// The definition of `coffer` as a whole: its common options, its overview and its completions.
  static let program = Program<Command>(
    name: "coffer", version: "0.1.0", purpose: "A key-value store: durable, atomic, and observable across processes.",
    commonOptions: [.store, .json, .help], introduction: [.set, .get, .ls, .watch], dashed: "a key or value",
    sections: [
      HelpSection(
        heading: "Store",
        text: """
          --store, else $COFFER_STORE, else $XDG_DATA_HOME/coffer/coffer.db, else
          ~/.local/share/coffer/coffer.db. 'set', 'import' and 'restore' create
          it if it is missing, and 'cp' its TO. Kinds of store:
          """, rows: (StoreLocation.kinds + [Table.postgresqlKind]).map { ($0.form, $0.meaning) })
    ],
    lister: Lister(item: "key", command: "ls -0", scope: .store, environment: Passphrases.neverAsk),
    subjects: [.key, .store], meaning: \.meaning,
    explanation: { ($0 as? StorageError).map { CommandError($0.advisingCommands) } })
}

typealias Invocation = CofferTerminal.Invocation<Command>
typealias Syntax = CofferTerminal.Syntax<Option>

extension ExitStatus {
  /// The explanation of the status in help.
  var meaning: String {
    switch self {
    case .ok: "it worked"
    case .failure: "it failed, or damage was found"
    case .usage: "the command line is wrong"
    case .notFound: "there is no such key, or no store"
    case .tryAgain: ""
    case .interrupted: "it was interrupted"
    }
  }
}
