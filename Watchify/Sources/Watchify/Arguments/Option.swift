import CofferTerminal

/// Every option of every command, as data. An option means the same wherever it is taken.
enum Option: String, ProgramOption {
  case name, country, header, until
  case forgetHeaders = "forget-headers"
  case yes, now
  case search, stock, sort, limit, offset
  case variant, width, ascii
  case store, type, since, unread, all
  case reset, csv, fast, null
  case data, json, help, version

  /// The letter of the short form, where there is one.
  var letter: Character? {
    switch self {
    case .help: "h"
    case .null: "0"
    case .yes: "y"
    default: nil
    }
  }

  /// The value that follows; `nil` for a switch.
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

  /// One line for help and completions.
  var summary: String {
    switch self {
    case .name: "what to call it; its own name unless given"
    case .country: "the market whose prices are shown: US, GB, ..."
    case .header: "'Name: value', sent to this store only; may be repeated"
    case .until: "when these headers end: 90d, or a date such as 2026-01-31"
    case .forgetHeaders: "send none of the headers that were given any more"
    case .yes: "do not ask"
    case .now: "every store at once: status 75 if any of them has to wait"
    case .search: "words that are all in the title"
    case .stock: "all, in (can be bought) or out (sold out)"
    case .sort: "name, price, -price (highest first) or new"
    case .limit: "show N at most"
    case .offset: "leave out the first N"
    case .variant: "one size, colour or form, by title or id"
    case .width: "columns of the chart; as wide as the terminal unless given"
    case .ascii: "draw with plain characters"
    case .store: "only this store"
    case .type: "only this kind of news; may be repeated"
    case .since: "today, 7d, 30d or a date such as 2026-01-31"
    case .unread: "only what is unread"
    case .all: "everything"
    case .reset: "back to the default"
    case .csv: "print CSV"
    case .fast: "without pauses"
    case .null: "names alone, each ended by a NUL byte"
    case .data: "the database"
    case .json: "print JSON, errors too"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
