import CofferTerminal
import WatchifyKit

/// The options of all commands. An option has the same meaning in every command that accepts it.
enum Option: String, ProgramOption {
  case name, address, country, header, until
  case forgetHeaders = "forget-headers"
  case yes, now
  case search, stock, sort, limit, offset
  case variant, width, ascii
  case below, off, new, currency
  case inStock = "in-stock"
  case store, type, since, unread, wish, all
  case shape, user, from, to, daily
  case secretFrom = "secret-from"
  case allowPrivate = "allow-private"
  case certificates = "ca-file"
  case reset, csv, fast, null
  case port, listen, certificate, key, hostname, serve
  case tokenFile = "token-file"
  case publicAddress = "public-address"
  case trustedProxy = "trusted-proxy"
  case linger, force
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
    case .address: OptionValue(name: "ADDRESS", completion: .nothing)
    case .country: OptionValue(name: "CC", completion: .nothing)
    case .header: OptionValue(name: "HEADER", completion: .nothing)
    case .until: OptionValue(name: "WHEN", completion: .words(["30d", "90d"]))
    case .search: OptionValue(name: "WORDS", completion: .nothing)
    case .stock: OptionValue(name: "STOCK", completion: .words(["all", "in", "out"]))
    case .sort: OptionValue(name: "ORDER", completion: .words(["name", "price", "-price", "new"]))
    case .below: OptionValue(name: "PRICE", completion: .nothing)
    case .off: OptionValue(name: "PERCENT", completion: .words(["10", "20", "50"]))
    case .currency: OptionValue(name: "CODE", completion: .nothing)
    case .limit, .offset, .width: OptionValue(name: "N", completion: .nothing)
    case .variant: OptionValue(name: "VARIANT", completion: .nothing)
    case .store: OptionValue(name: "STORE", completion: .listed)
    case .wish: OptionValue(name: "ID", completion: .nothing)
    case .type: OptionValue(name: "TYPE", completion: .words(TypeName.all))
    case .since: OptionValue(name: "WHEN", completion: .words(["today", "7d", "30d"]))
    case .port: OptionValue(name: "PORT", completion: .nothing)
    case .listen: OptionValue(name: "ADDRESS", completion: .words(["127.0.0.1", "0.0.0.0"]))
    case .hostname: OptionValue(name: "HOST", completion: .nothing)
    case .publicAddress: OptionValue(name: "URL", completion: .nothing)
    case .trustedProxy: OptionValue(name: "ADDRESS", completion: .nothing)
    case .shape: OptionValue(name: "SHAPE", completion: .words(ChannelKind.allCases.map(\.rawValue)))
    case .user, .from, .to: OptionValue(name: self == .user ? "USER" : "ADDRESS", completion: .nothing)
    case .daily: OptionValue(name: "HH:MM", completion: .words(["08:00"]))
    case .data, .certificate, .key, .tokenFile, .secretFrom, .certificates:
      OptionValue(name: "FILE", completion: .files)
    case .inStock, .new, .allowPrivate, .forgetHeaders, .yes, .now, .ascii, .unread, .all, .reset, .csv, .fast, .null,
      .serve, .linger, .force, .json, .help, .version:
      nil
    }
  }

  /// The description in one line, for help and completions.
  var summary: String {
    switch self {
    case .name: "the display name; the shop's own by default"
    case .address: "follow it at another address, and keep its history"
    case .country: "the market whose prices are shown: US, GB, ..."
    case .header: "'Name: value', sent to this store only; may be repeated"
    case .until: "when it expires: 90d, or a date such as 2026-01-31"
    case .forgetHeaders: "remove all headers of the store"
    case .yes: "do not ask"
    case .now: "end with status 75 if any store has to wait"
    case .search: "words that the title must contain"
    case .stock: "all, in (in stock) or out (sold out)"
    case .sort: "name, price, -price (highest first) or new"
    case .limit: "show at most N"
    case .offset: "skip the first N"
    case .variant: "a variant, by title or id"
    case .below: "a wish for a price of at most PRICE"
    case .off: "a wish for a price PERCENT % below the present one"
    case .currency: "the currency of PRICE; that of the store by default"
    case .new: "a wish for products that are new"
    case .inStock: "a wish for something that is in stock"
    case .width: "columns of the chart; the terminal's width by default"
    case .ascii: "draw with plain characters"
    case .store: "only this store"
    case .type: "only this kind of news; may be repeated"
    case .since: "today, 7d, 30d or a date such as 2026-01-31"
    case .unread: "only unread news"
    case .wish: "only this wish, by the beginning of its id"
    case .all: "everything"
    case .shape: "json (default), ntfy, discord, slack, gotify, matrix, email"
    case .user: "the user at the SMTP server"
    case .from: "the sender of e-mail"
    case .to: "a recipient of e-mail; may be repeated"
    case .daily: "one message a day, at this time or at the next sync"
    case .secretFrom: "a file with the token, key or password; - for standard input"
    case .allowPrivate: "allow addresses of this device and of private networks"
    case .certificates: "certificates that sign the server's, instead of the system's"
    case .reset: "reset to the default"
    case .csv: "print CSV"
    case .fast: "without pauses"
    case .null: "only names, each terminated by a NUL byte"
    case .port: "the port of the page; 8737 by default, 0 for any free one"
    case .listen: "an address for other devices; needs a token and TLS"
    case .certificate: "the certificate chain for TLS, as PEM"
    case .key: "the private key of the certificate, as PEM"
    case .hostname: "a name by which browsers reach it; may be repeated"
    case .publicAddress: "its address at a reverse proxy; needs a token and https"
    case .trustedProxy: "the address of a proxy elsewhere; may be repeated"
    case .tokenFile: "the access token, 16 characters or more; - reads stdin"
    case .serve: "keep the page of the demo until Ctrl-C"
    case .linger: "let it run while nobody is logged in, from the start of the system"
    case .force: "also replace or remove a unit that was edited"
    case .data: "the database"
    case .json: "print JSON, errors too"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}
