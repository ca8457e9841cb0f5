import CofferTerminal
import WatchifyKit

/// The syntax of the commands on products and news.
extension Table {
  static let products = Syntax(
    summary: "list the products of a store",
    operands: [storeOperand],
    options: [.search, .stock, .sort, .limit, .offset, .data, .json],
    examples: [
      Example("watchify products Allbirds", "the first 50, by name"),
      Example("watchify products Allbirds --search \"wool runner\"", "titles with both words"),
      Example("watchify products Allbirds --stock out", "sold-out products"),
      Example("watchify products Allbirds --sort -price --limit 5", "the most expensive five"),
    ])

  static let product = Syntax(
    summary: "show a product: variants, prices, stock, and a chart of its price",
    operands: [
      storeOperand,
      Operand(name: "PRODUCT", summary: "its handle (as in its address), id or title", isRequired: true),
    ],
    options: [.variant, .width, .ascii, .data, .json],
    details: [
      """
      The chart shows one variant: the one given with --variant, or else the one whose
      price changed most. A price is valid until the next one; times when it was sold
      out are shaded, the crossed-out price is dashed.
      """
    ],
    examples: [
      Example("watchify product Allbirds mens-wool-runners", "by the end of its address"),
      Example("watchify product Allbirds \"Wool Runner\" --variant 10", "the chart of one variant"),
    ],
    aliases: ["show", "chart", "history", "price"])

  static let activity = Syntax(
    summary: "show what changed, newest first",
    options: [.store, .type, .since, .unread, .limit, .data, .json],
    details: [
      """
      A row is news of one group (price, stock, product, store or wish) about one
      product, each at most five minutes after the one before; the setting
      activityGroupingWindowMinutes changes that. An asterisk marks unread news.
      'watchify read' takes the id at the beginning of a row.
      """,
      "TYPE is one of \(TypeName.groups.joined(separator: ", ")) or of:\n" + TypeName.lines,
    ],
    examples: [
      Example("watchify activity", "the newest"),
      Example("watchify activity --since today --unread", "what is new today"),
      Example("watchify activity --type priceDropped --type stock", "some kinds only"),
    ],
    aliases: ["events", "news", "log", "changes"])

  static let read = Syntax(
    summary: "mark news as read",
    operands: [Operand(name: "EVENT", summary: "the id at the beginning of a row of activity", repeats: true)],
    options: [.all, .store, .type, .since, .data, .json],
    details: ["Marks exactly what 'watchify activity' shows with the same options."],
    examples: [
      Example("watchify read --all", "all news"),
      Example("watchify read --type stock", "news about stock"),
    ],
    aliases: ["mark", "seen"])

  static let settings = Syntax(
    summary: "show or change a setting",
    operands: [
      Operand(name: "KEY", completion: .words(WatchifySetting.all.map(\.name)), summary: "all of them by default"),
      Operand(name: "VALUE", summary: "the new value", isValue: true),
    ],
    options: [.reset, .data, .json],
    details: ["An asterisk marks a value other than the default. A running watch adopts it."],
    examples: [
      Example("watchify settings", "all of them"),
      Example("watchify settings syncIntervalMinutes 60", "sync once an hour"),
      Example("watchify settings priceDropThreshold 10%", "only drops of at least 10 %"),
      Example("watchify settings quietHours 22:00-07:30", "no notifications at night"),
      Example("watchify settings quietHours --reset", "reset to the default"),
    ],
    aliases: ["config", "set", "preferences"])

  static let export = Syntax(
    summary: "print the price history of a store",
    operands: [storeOperand], options: [.csv, .data, .json],
    details: ["A row for each change of a variant's values. CSV unless --json is given."],
    examples: [Example("watchify export Allbirds --csv > allbirds.csv", "for a spreadsheet")],
    aliases: ["dump", "backup"])

  static let doctor = Syntax(
    summary: "find problems that keep Watchify from working",
    options: [.data, .json],
    details: ["Changes nothing. Exits with status 1 for a problem, but not for warnings."],
    examples: [Example("watchify doctor", "database, desktop, network, stores")],
    aliases: ["diagnose", "health", "troubleshoot"])

  static let audit = Syntax(
    summary: "report which settings are stored",
    options: [.data, .json], examples: [Example("watchify audit", "names, sizes and dates; no values")])

  static let demo = Syntax(
    summary: "follow an invented shop, offline, for a minute",
    options: [.fast, .serve, .port, .json],
    details: [
      """
      Runs a shop inside this process, with a temporary database that is deleted at
      the end. It checks itself: status 1 means that an expectation failed. With
      --serve, a page shows the result until Ctrl-C.
      """
    ],
    examples: [
      Example("watchify demo", "see what Watchify does"),
      Example("watchify demo --fast --serve", "and look at it in a browser"),
    ],
    aliases: ["try", "tour"])

  static let completions = Syntax(
    summary: "print completions for bash",
    details: ["Completes commands, options and the names of stores."],
    examples: [
      Example("source <(watchify completions)", "in ~/.bashrc")
    ],
    aliases: ["completion"])

  static let help = Syntax(
    summary: "show help",
    operands: [Operand(name: "COMMAND", completion: .commands, summary: "the command to explain")],
    examples: [Example("watchify help add", "the same as watchify add --help")])

  static let version = Syntax(
    summary: "show the version", options: [.json],
    examples: [Example("watchify version", "the same as watchify --version")])
}
