import CofferTerminal

/// An option of a command. An option has the same meaning in every command that takes it.
enum Option: String, ProgramOption {
  case file, relaxed
  case prefix, yes
  case acceptLoss = "accept-loss"
  case upgrade
  case overwrite, discard
  case takeOver = "take-over"
  case long, null
  case since, count
  case type, expires
  case html, all
  case readOnly = "read-only"
  case passphraseFile = "passphrase-file"
  case passphraseDescriptor = "passphrase-fd"
  case store, json, help, version

  /// The options that select a store and supply its passphrase.
  static let ofStore: [Option] = [.store, .passphraseFile, .passphraseDescriptor]

  /// The options of a command that can read a store without changing it.
  static let ofReadStore: [Option] = [.readOnly] + ofStore

  /// The letter of the short form, or `nil`.
  var letter: Character? {
    switch self {
    case .help: "h"
    case .long: "l"
    case .null: "0"
    case .yes: "y"
    default: nil
    }
  }

  /// The value that follows the option, or `nil` for a switch.
  var value: OptionValue? {
    switch self {
    case .file, .html, .store, .passphraseFile: OptionValue(name: "PATH", completion: .files)
    case .type: OptionValue(name: "TYPE", completion: .words(PreferenceType.allCases.map(\.rawValue)))
    case .expires: OptionValue(name: "WHEN", completion: .nothing)
    case .prefix: OptionValue(name: "PREFIX", completion: .listed)
    case .since: OptionValue(name: "REVISION", completion: .nothing)
    case .count, .passphraseDescriptor: OptionValue(name: "N", completion: .nothing)
    case .relaxed, .yes, .acceptLoss, .upgrade, .overwrite, .discard, .takeOver, .all, .long, .null, .readOnly, .json,
      .help, .version:
      nil
    }
  }

  /// The description in help and completions: one line of at most 52 columns.
  var summary: String {
    switch self {
    case .file: "take the value from a file, byte by byte"
    case .relaxed: "do not wait for the disk: power loss may undo it"
    case .prefix: "all keys that start with PREFIX, and no others"
    case .yes: "do not ask for confirmation"
    case .acceptLoss: "accept that lost or damaged data is gone"
    case .upgrade: "add checksums to pages that have none"
    case .overwrite: "replace the file if it exists"
    case .discard: "do not keep the replaced data"
    case .takeOver: "replace the store even while it is open elsewhere"
    case .long: "also show size and revision"
    case .null: "end each key with a NUL byte, not a line end"
    case .since: "first show the commits after REVISION"
    case .count: "end after N events"
    case .type: "preference type: string, number, boolean, date, data"
    case .expires: "absent from then on: 90s, 15m, 2h, 7d, or a date"
    case .all: "list each undeclared value, however many there are"
    case .html: "also write the report as an HTML page"
    case .readOnly: "change nothing in the store, not even to recover it"
    case .passphraseFile: "read the passphrase of a sealed store from PATH"
    case .passphraseDescriptor: "read the passphrase from an open descriptor"
    case .store: "the store: PATH or KIND:ADDRESS; see 'coffer help'"
    case .json: "print JSON, including errors"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
