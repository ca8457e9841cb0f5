import CofferTerminal

/// The options of all commands. An option has the same meaning in every command that accepts it.
enum Option: String, ProgramOption {
  case name, country, header, until
  case forgetHeaders = "forget-headers"
  case yes, now
  case search, stock, sort, limit, offset
  case variant, width, ascii
  case store, type, since, unread, all
  case reset, csv, fast, null
  case data, json, help, version

  /// The letter of the short form; `nil` if there is none.
  var letter: Character? {
    switch self {
    case .help: "h"
    case .null: "0"
    case .yes: "y"
    default: nil
    }
  }

  /// The value that the option requires; `nil` for a flag.
  var value: OptionValue? {
    switch self {
    case .name: OptionValue(name: "NAME", completion: .nothing)
    case .country: OptionValue(name: "CC", completion: .nothing)
    case .header: OptionValue(name: "HEADER", completion: .nothing)
    case .until: OptionValue(name: "WHEN", completion: .words(["30d", "90d"]))
    case .search: OptionValue(name: "WORDS", completion: .nothing)
    case .stock: OptionValue(name: "STOCK", completion: .words(["all", "in", "out"]))
    case .sort: OptionValue(name: "ORDER", completion: .words(["name", "price", "-price", "new"]))
    case .limit, .offset, .width: OptionValue(name: "N", completion: .nothing)
    case .variant: OptionValue(name: "VARIANT", completion: .nothing)
    case .store: OptionValue(name: "STORE", completion: .listed)
    case .type: OptionValue(name: "TYPE", completion: .words(TypeName.all))
    case .since: OptionValue(name: "WHEN", completion: .words(["today", "7d", "30d"]))
    case .data: OptionValue(name: "FILE", completion: .files)
    case .forgetHeaders, .yes, .now, .ascii, .unread, .all, .reset, .csv, .fast, .null, .json, .help, .version: nil
    }
  }

  /// The description in one line, for help and completions.
  var summary: String {
    switch self {
    case .name: "the display name; the shop's own by default"
    case .country: "the market whose prices are shown: US, GB, ..."
    case .header: "'Name: value', sent to this store only; may be repeated"
    case .until: "when these headers expire: 90d, or a date such as 2026-01-31"
    case .forgetHeaders: "remove all headers of the store"
    case .yes: "do not ask"
    case .now: "end with status 75 if any store has to wait"
    case .search: "words that the title must contain"
    case .stock: "all, in (in stock) or out (sold out)"
    case .sort: "name, price, -price (highest first) or new"
    case .limit: "show at most N"
    case .offset: "skip the first N"
    case .variant: "a variant, by title or id"
    case .width: "columns of the chart; the terminal's width by default"
    case .ascii: "draw with plain characters"
    case .store: "only this store"
    case .type: "only this kind of news; may be repeated"
    case .since: "today, 7d, 30d or a date such as 2026-01-31"
    case .unread: "only unread news"
    case .all: "everything"
    case .reset: "reset to the default"
    case .csv: "print CSV"
    case .fast: "without pauses"
    case .null: "only names, each terminated by a NUL byte"
    case .data: "the database"
    case .json: "print JSON, errors too"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
