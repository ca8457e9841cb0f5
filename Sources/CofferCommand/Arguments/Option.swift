import Coffer
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
  case ignoreForeign = "ignore-foreign"
  case label
  case toLabel = "to-label"
  case keyFile = "key-file"
  case keyItem = "key-item"
  case passphraseFile = "passphrase-file"
  case toKeyFile = "to-key-file"
  case toKeyItem = "to-key-item"
  case toPassphraseFile = "to-passphrase-file"
  case encrypted, decrypt, scrub
  case hideNames = "hide-names"
  case pad, cipher
  case anchorFile = "anchor-file"
  case acceptRollback = "accept-rollback"
  case dryRun = "dry-run"
  case encoding, map, table, remove
  case onlyMapped = "only-mapped"
  case onConflict = "on-conflict"
  case keyColumn = "keys"
  case valueColumn = "values"
  case `continue`
  case write
  case store, json, help, version

  /// The options that supply the key or the passphrase of a store, and its label.
  static let ofKey: [Option] = [.keyFile, .keyItem, .passphraseFile, .label]

  /// The options that supply a second key and label: the new ones of a store, or those of the store TO.
  static let ofSecondKey: [Option] = [.toKeyFile, .toKeyItem, .toPassphraseFile, .toLabel]

  /// The options that determine the manner of encryption of a new key ring.
  static let ofEncryption: [Option] = [.hideNames, .pad, .cipher]

  /// The options that select a store and supply its key.
  static let ofStore: [Option] = [.store] + ofKey + [.ignoreForeign]

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
    case .file, .html, .store, .passphraseFile, .keyFile, .toPassphraseFile, .toKeyFile, .anchorFile:
      OptionValue(name: "PATH", completion: .files)
    case .keyItem, .toKeyItem: OptionValue(name: "SERVICE", completion: .nothing)
    case .label, .toLabel: OptionValue(name: "TEXT", completion: .nothing)
    case .cipher: OptionValue(name: "CIPHER", completion: .words(CipherName.allCases.map(\.rawValue)))
    case .type: OptionValue(name: "TYPE", completion: .words(PreferenceType.allCases.map(\.rawValue)))
    case .expires: OptionValue(name: "WHEN", completion: .nothing)
    case .prefix: OptionValue(name: "PREFIX", completion: .listed)
    case .encoding: OptionValue(name: "NAME", completion: .words(Import.Encoding.allCases.map(\.rawValue)))
    case .map: OptionValue(name: "OLD=NEW", completion: .nothing)
    case .onConflict: OptionValue(name: "POLICY", completion: .words(["refuse", "keep", "replace"]))
    case .table, .keyColumn, .valueColumn: OptionValue(name: "NAME", completion: .nothing)
    case .since: OptionValue(name: "REVISION", completion: .nothing)
    case .count: OptionValue(name: "N", completion: .nothing)
    case .relaxed, .yes, .acceptLoss, .upgrade, .overwrite, .discard, .takeOver, .all, .long, .null, .readOnly,
      .ignoreForeign, .json, .encrypted, .decrypt, .scrub, .hideNames, .pad, .acceptRollback, .dryRun, .remove,
      .onlyMapped, .write, .continue, .help, .version:
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
    case .readOnly: "change nothing in the store, not even by recovery"
    case .ignoreForeign: "use files and preferences of other programs as is"
    case .label: "the label of the store, by default KIND:NAME"
    case .toLabel: "the new label, or that of TO: as --label"
    case .keyFile: "read the key of an encrypted store from PATH"
    case .keyItem: "use the key of SERVICE[@GROUP] in the keyring"
    case .passphraseFile: "read the passphrase of the store from PATH"
    case .toKeyFile: "the new key, or that of TO: as --key-file"
    case .toKeyItem: "the new key, or that of TO: as --key-item"
    case .toPassphraseFile: "the same: as --passphrase-file"
    case .encrypted: "encrypt new values where only some are encrypted"
    case .decrypt: "accept that protected values become plain ones"
    case .scrub: "only clear removed keys and values from the files"
    case .hideNames: "hide the names of the keys, too; not changed later"
    case .pad: "hide the sizes of values, too; not changed later"
    case .cipher: "aes256 (default) or chacha20; not changed later"
    case .anchorFile: "the file by which an older copy is noticed"
    case .acceptRollback: "anchor the store as it is, also an older copy"
    case .encoding: "how the values are encoded, such as json"
    case .map: "store the value OLD under the key NEW"
    case .onlyMapped: "skip values that no --map names"
    case .onConflict: "a key with another value: refuse, keep or replace"
    case .table: "the table of a database"
    case .keyColumn: "the column with the names"
    case .valueColumn: "the column with the values"
    case .remove: "remove each file once its value is stored safely"
    case .write: "also allow writing"
    case .dryRun: "only report what would be done"
    case .continue: "only finish what an earlier run has begun"
    case .store: "the store: PATH or KIND:ADDRESS; see 'coffer help'"
    case .json: "print JSON, including errors"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
