import CofferTerminal

/// Every option of every command, as data. An option means the same wherever it is taken.
enum Option: String, ProgramOption {
  case file, relaxed
  case prefix, yes
  case acceptLoss = "accept-loss"
  case upgrade
  case overwrite, discard
  case takeOver = "take-over"
  case long, null
  case since, count
  case type
  case html
  case passphraseFile = "passphrase-file"
  case passphraseDescriptor = "passphrase-fd"
  case store, json, help, version

  /// Which store is meant, and what opens it.
  static let ofStore: [Option] = [.store, .passphraseFile, .passphraseDescriptor]

  /// The letter of the short form, where there is one.
  var letter: Character? {
    switch self {
    case .help: "h"
    case .long: "l"
    case .null: "0"
    case .yes: "y"
    default: nil
    }
  }

  /// The value that follows; `nil` for a switch.
  var value: OptionValue? {
    switch self {
    case .file, .html, .store, .passphraseFile: OptionValue(name: "PATH", completion: .files)
    case .type: OptionValue(name: "TYPE", completion: .words(PreferenceType.allCases.map(\.rawValue)))
    case .prefix: OptionValue(name: "PREFIX", completion: .listed)
    case .since: OptionValue(name: "REVISION", completion: .nothing)
    case .count, .passphraseDescriptor: OptionValue(name: "N", completion: .nothing)
    case .relaxed, .yes, .acceptLoss, .upgrade, .overwrite, .discard, .takeOver, .long, .null, .json, .help, .version:
      nil
    }
  }

  /// One line for help and completions.
  var summary: String {
    switch self {
    case .file: "take the value from a file, byte by byte"
    case .relaxed: "do not wait for the disk: power loss may undo it"
    case .prefix: "all keys that start with PREFIX, and no others"
    case .yes: "do not ask"
    case .acceptLoss: "go on without what is lost or damaged"
    case .upgrade: "add checksums to pages that have none"
    case .overwrite: "replace the file if it is there"
    case .discard: "do not keep what is replaced"
    case .takeOver: "replace the store although somebody has it open"
    case .long: "show size and revision too"
    case .null: "end each key with a NUL byte, not a line end"
    case .since: "first show what was committed after REVISION"
    case .count: "end after N events"
    case .type: "of a preference: string, number, boolean, date, data"
    case .html: "write the report as a page, too"
    case .passphraseFile: "the passphrase of a sealed store is in this file"
    case .passphraseDescriptor: "the passphrase comes from this open descriptor"
    case .store: "the store: PATH or KIND:PLACE, as coffer help lists"
    case .json: "print JSON, errors too"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
