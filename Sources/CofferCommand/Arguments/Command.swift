import Coffer
import CofferTerminal

/// Every command by its name.
enum Command: String, ProgramCommand {
  case set, get, rm, ls, cp, backup, restore, watch, info, verify, audit, doctor, completions, help, version

  /// What the command takes and what its help says.
  var syntax: Syntax {
    switch self {
    case .set: Table.set
    case .get: Table.get
    case .rm: Table.rm
    case .ls: Table.ls
    case .cp: Table.cp
    case .backup: Table.backup
    case .restore: Table.restore
    case .watch: Table.watch
    case .info: Table.info
    case .verify: Table.verify
    case .audit: Table.audit
    case .doctor: Table.doctor
    case .completions: Table.completions
    case .help: Table.help
    case .version: Table.version
    }
  }

  /// `coffer` as a whole.
  static let program = Program<Command>(
    name: "coffer", version: "0.1.0", purpose: "Keep values by key: durable, atomic, and heard by other processes.",
    commonOptions: [.store, .json, .help], introduction: [.set, .get, .ls, .watch], dashed: "a key or value",
    sections: [
      HelpSection(
        heading: "Store",
        text: """
          --store, else $COFFER_STORE, else $XDG_DATA_HOME/coffer/coffer.db, else
          ~/.local/share/coffer/coffer.db. 'set' creates it, and 'cp' creates its TO;
          nothing else does. Kinds of store:
          """, rows: StoreLocation.kinds.map { ($0.form, $0.meaning) })
    ],
    lister: Lister(item: "key", command: "ls -0", scope: .store, environment: Passphrases.neverAsk),
    subjects: [.key, .store], meaning: \.meaning)
}

typealias Invocation = CofferTerminal.Invocation<Command>
typealias Syntax = CofferTerminal.Syntax<Option>

extension ExitStatus {
  /// What help says.
  var meaning: String {
    switch self {
    case .ok: "it worked"
    case .failure: "it failed, or something damaged was found"
    case .usage: "the command line is wrong"
    case .notFound: "there is no such key, or no store"
    case .tryAgain: ""
    case .interrupted: "it was interrupted"
    }
  }
}

extension UsageError {
  init(_ message: String, _ command: Command? = nil) { self = Command.mistake(message, command) }
}

extension Shell {
  /// What the shell has to read to complete `coffer`.
  var script: String { script(for: Command.self) }
}
