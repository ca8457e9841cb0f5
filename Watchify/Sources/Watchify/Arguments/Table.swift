import CofferTerminal

/// The syntax of the commands on stores.
enum Table {
  typealias Operand = Syntax.Operand
  typealias Example = Syntax.Example

  static let storeOperand = Operand(
    name: "STORE", completion: .listed, summary: "its name, its address or the beginning of its id", isRequired: true)

  static let add = Syntax(
    summary: "follow a store",
    operands: [
      Operand(name: "ADDRESS", summary: "its address, or a link to a product", isRequired: true)
    ],
    options: [.name, .country, .header, .until, .data, .json],
    details: [
      """
      Its first sync stores all of its products; existing products are no news.
      Prices are those of one market: the store's own country unless --country
      says otherwise.
      """,
      """
      --header is for owners, whom Shopify lets sign requests to their own shop.
      Values of headers are kept in the database and never printed. Signatures expire:
      with --until none is sent after that day, and the doctor warns before.
      """,
    ],
    examples: [
      Example("watchify add allbirds.com", "follow a shop"),
      Example("watchify add allbirds.com --country GB", "its prices in Great Britain"),
      Example("watchify add allbirds.com --name Shoes", "with another name"),
    ],
    aliases: ["follow", "new", "subscribe"])

  static let list = Syntax(
    summary: "show the followed stores; the default command",
    operands: [Operand(name: "PREFIX", completion: .listed, summary: "only names that begin with it")],
    options: [.null, .data, .json],
    details: [
      """
      The line at the top shows how much is unread, when stores were synced last, when
      they are synced next, and whether notifications can be shown.
      """
    ],
    examples: [
      Example("watchify", "the same as watchify list"),
      Example("watchify list --json", "for scripts"),
    ],
    aliases: ["ls", "stores", "status"])

  static let edit = Syntax(
    summary: "change the name, address, market or headers of a store",
    operands: [storeOperand],
    options: [.name, .address, .country, .header, .until, .forgetHeaders, .data, .json],
    details: [
      """
      Other values are kept. Another country is another market: the next sync takes
      all values there as the new baseline, with one notice. New headers replace the
      previous ones.
      """,
      """
      --address is for a shop that has moved. Its list there is read first, and must
      contain a known product; the old address may be dead. Headers are not taken
      along.
      """,
    ],
    examples: [
      Example("watchify edit Allbirds --name Shoes", "another name"),
      Example("watchify edit Allbirds --address new.example", "after a move"),
      Example("watchify edit Allbirds --country GB", "its prices there"),
      Example("watchify edit Allbirds --header 'X: ...' --until 90d", "a new signature"),
    ],
    aliases: ["rename", "modify", "alter"])

  static let remove = Syntax(
    summary: "stop following a store, and delete its data",
    operands: [
      Operand(
        name: "STORE", completion: .listed, summary: "its whole name, its address or 8 digits of its id",
        isRequired: true)
    ],
    options: [.yes, .data, .json],
    details: [
      """
      Shows what will be deleted (products, price history, news) and asks. Without
      a terminal, --yes is required.
      """
    ],
    examples: [
      Example("watchify remove Allbirds", "delete a shop"),
      Example("watchify remove Allbirds --yes", "without confirmation, for scripts"),
    ],
    aliases: ["rm", "delete", "unfollow"])

  static let sync = Syntax(
    summary: "sync stores once, and print what changed",
    operands: [
      Operand(name: "STORE", completion: .listed, summary: "all of them by default", repeats: true)
    ],
    options: [.now, .data, .json],
    details: [
      """
      A store is synced at most once a minute, by all processes together. One that is
      not due yet is skipped with a message ("wait 42 s"). The command ends with
      status 75 if no store was due; with --now, if any was not.
      """,
      """
      News is also sent to the channels selected in the settings. A store that fails
      keeps its stored data.
      """,
    ],
    examples: [
      Example("watchify sync", "all stores"),
      Example("watchify sync Allbirds --now", "one store; status 75 if it is not due yet"),
    ],
    aliases: ["refresh", "update", "check", "fetch"])

  static let watch = Syntax(
    summary: "sync all stores at intervals, and print what changed",
    options: [.data, .json],
    details: [
      """
      Runs until Ctrl-C or SIGTERM. The interval is the setting
      syncIntervalMinutes. On a terminal a line at the bottom shows what it does, and
      the last and the next sync; otherwise there is a line for each. Other commands
      may run at the same time. 'watchify serve' also shows a page, and 'watchify
      service' keeps that running.
      """
    ],
    examples: [
      Example("watchify watch", "in a separate terminal"),
      Example("watchify watch --json", "one JSON object per line"),
    ],
    aliases: ["run", "start", "daemon", "monitor"])

  static let resume = Syntax(
    summary: "end a pause that a store or Shopify has requested",
    operands: [Operand(name: "STORE", completion: .listed, summary: "all pauses by default")],
    options: [.data, .json],
    details: [
      """
      After a response "too many requests" a store is not synced for two minutes, longer
      each time, and up to an hour if the store requests it. The pause is for that
      store; only a refusal by Shopify's servers pauses all. A running watch
      resumes too.
      """
    ],
    examples: [
      Example("watchify resume Allbirds", "its pause only"),
      Example("watchify resume", "end every pause"),
    ],
    aliases: ["unpause", "continue"])
}
