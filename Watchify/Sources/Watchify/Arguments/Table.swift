import CofferTerminal

/// The commands on stores, as data.
enum Table {
  typealias Operand = Syntax.Operand
  typealias Example = Syntax.Example

  static let storeOperand = Operand(
    name: "STORE", completion: .listed, summary: "its name, its address or the beginning of its id", isRequired: true)

  static let add = Syntax(
    summary: "follow a store",
    operands: [
      Operand(name: "ADDRESS", summary: "its address as you would paste it, or a link to a product", isRequired: true)
    ],
    options: [.name, .country, .header, .until, .data, .json],
    details: [
      """
      Reads all of its products once and keeps them. What is already there is no
      news. Prices are those of one market: the store's own country unless --country
      says otherwise.
      """,
      """
      --header is for owners: Shopify lets them sign readers of their own shop.
      Values of headers are kept in the database and never printed. Signatures end:
      with --until none is sent after that day, and the doctor says so before.
      """,
    ],
    examples: [
      Example("watchify add allbirds.com", "follow a shop"),
      Example("watchify add allbirds.com --country GB", "its prices in Great Britain"),
      Example("watchify add allbirds.com --name Shoes", "under a name of your own"),
    ],
    aliases: ["follow", "new", "subscribe"])

  static let list = Syntax(
    summary: "show the followed stores; what watchify does without a command",
    operands: [Operand(name: "PREFIX", completion: .listed, summary: "only names that begin with it")],
    options: [.null, .data, .json],
    details: [
      """
      The line at the top says how much is unread, when stores were read last, when
      they are read next, and whether notifications can be shown.
      """
    ],
    examples: [
      Example("watchify", "the same as watchify list"),
      Example("watchify list --json", "for scripts"),
    ],
    aliases: ["ls", "stores", "status"])

  static let edit = Syntax(
    summary: "change what a store is called, or how it is asked",
    operands: [storeOperand],
    options: [.name, .country, .header, .until, .forgetHeaders, .data, .json],
    details: [
      """
      What is not named stays. Another country is another market: the next read takes
      everything as it is there, which is no news. Headers that are given replace
      those from before.
      """
    ],
    examples: [
      Example("watchify edit Allbirds --name Shoes", "a name of your own"),
      Example("watchify edit Allbirds --country GB", "its prices there"),
      Example("watchify edit Allbirds --header 'X: ...' --until 90d", "a new signature"),
    ],
    aliases: ["rename", "modify", "alter"])

  static let remove = Syntax(
    summary: "stop following a store, and delete all that is known of it",
    operands: [
      Operand(
        name: "STORE", completion: .listed, summary: "its whole name, its address or its whole id", isRequired: true)
    ],
    options: [.yes, .data, .json],
    details: [
      """
      Says what goes, its products, its price history and its news, and asks. Where
      there is no terminal to ask on, --yes is needed.
      """
    ],
    examples: [
      Example("watchify remove Allbirds", "forget a shop"),
      Example("watchify remove Allbirds --yes", "without a question, for scripts"),
    ],
    aliases: ["rm", "delete", "unfollow"])

  static let sync = Syntax(
    summary: "read stores and tell what changed",
    operands: [
      Operand(name: "STORE", completion: .listed, summary: "which; all of them unless given", repeats: true)
    ],
    options: [.now, .data, .json],
    details: [
      """
      A store is asked at most once a minute, whoever asks. One whose minute is not
      over is left out and said so ("wait 42 s"); the command ends with status 75
      where no store could be read for that reason, with --now where any could not.
      """,
      """
      News is also sent to the channels that the settings name. A store that fails
      keeps what was known of it.
      """,
    ],
    examples: [
      Example("watchify sync", "all stores"),
      Example("watchify sync Allbirds --now", "one store; status 75 where it has to wait"),
    ],
    aliases: ["refresh", "update", "check", "fetch"])

  static let watch = Syntax(
    summary: "read all stores again and again, and tell what changed",
    options: [.data, .json],
    details: [
      """
      Runs until Ctrl-C or SIGTERM. How often it looks is the setting
      syncIntervalMinutes. On a terminal a line at the bottom says what it does,
      when it looked last and when it looks next; elsewhere there is a line for
      each. Other commands may run beside it.
      """
    ],
    examples: [
      Example("watchify watch", "in a terminal of its own"),
      Example("watchify watch --json", "one JSON object a line"),
    ],
    aliases: ["run", "start", "daemon", "monitor"])

  static let resume = Syntax(
    summary: "end a pause that a store, or Shopify, has asked for",
    operands: [Operand(name: "STORE", completion: .listed, summary: "whose; every pause unless given")],
    options: [.data, .json],
    details: [
      """
      A store that answers "too many requests" is left in peace for two minutes, longer
      each time, up to an hour where it asks for that. It is its own pause: only what
      Shopify's servers refuse holds for all stores. A running watch takes this up.
      """
    ],
    examples: [
      Example("watchify resume Allbirds", "ask it with the next sync"),
      Example("watchify resume", "end every pause"),
    ],
    aliases: ["unpause", "continue"])
}
