/// Every option of every command, as data. An option means the same wherever it is taken.
enum Option: String, CaseIterable, Sendable {
  case file, relaxed
  case prefix, yes
  case long, null
  case since, count
  case type
  case html
  case passphraseFile = "passphrase-file"
  case passphraseDescriptor = "passphrase-fd"
  case store, json, help, version

  /// Which store is meant, and what opens it.
  static let ofStore: [Option] = [.store, .passphraseFile, .passphraseDescriptor]

  /// What completes the value of an option.
  enum ValueKind: Sendable { case path, key, number, preferenceType }

  struct Value: Sendable {
    let name: String
    let kind: ValueKind
  }

  /// `--file`
  var name: String { "--\(rawValue)" }

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
  var value: Value? {
    switch self {
    case .file, .html, .store, .passphraseFile: Value(name: "PATH", kind: .path)
    case .type: Value(name: "TYPE", kind: .preferenceType)
    case .prefix: Value(name: "PREFIX", kind: .key)
    case .since: Value(name: "REVISION", kind: .number)
    case .count, .passphraseDescriptor: Value(name: "N", kind: .number)
    case .relaxed, .yes, .long, .null, .json, .help, .version: nil
    }
  }

  /// One line for help and completions.
  var summary: String {
    switch self {
    case .file: "take the value from a file, byte by byte"
    case .relaxed: "do not wait for the disk: power loss may undo it"
    case .prefix: "all keys that start with PREFIX, and no others"
    case .yes: "do not ask"
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

  /// What `--help` shows on the left: `-l, --long`.
  var synopsis: String {
    (letter.map { "-\($0), " } ?? "") + name + (value.map { " \($0.name)" } ?? "")
  }
}
