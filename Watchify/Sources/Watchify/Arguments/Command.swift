import CofferTerminal

/// Every command by its name.
enum Command: String, ProgramCommand {
  case add, list, edit, remove, sync, watch, serve, resume, products, product, wish, activity, read, feed, notify
  case settings, export, doctor, audit, service, demo
  case completions, help, version

  /// The operands, options and help texts of the command.
  var syntax: Syntax {
    switch self {
    case .add: Table.add
    case .list: Table.list
    case .edit: Table.edit
    case .remove: Table.remove
    case .sync: Table.sync
    case .watch: Table.watch
    case .serve: Table.serve
    case .resume: Table.resume
    case .products: Table.products
    case .product: Table.product
    case .wish: Table.wish
    case .activity: Table.activity
    case .read: Table.read
    case .feed: Table.feed
    case .notify: Table.notify
    case .settings: Table.settings
    case .export: Table.export
    case .doctor: Table.doctor
    case .audit: Table.audit
    case .service: Table.service
    case .demo: Table.demo
    case .completions: Table.completions
    case .help: Table.help
    case .version: Table.version
    }
  }

  /// `watchify` as a whole.
  static let program = Program<Command>(
    name: "watchify", version: "0.1.0", purpose: "Follow Shopify stores: price, stock and product changes.",
    defaultCommand: .list, commonOptions: [.data, .json, .help], introduction: [.demo, .add, .serve, .activity],
    sections: [
      HelpSection(
        heading: "Data",
        text: """
          --data, else $XDG_DATA_HOME/watchify/watchify.db, else
          ~/.local/share/watchify/watchify.db: one SQLite database, private to this user.
          STORE is a store's name, its address or the beginning of its id.
          """)
    ],
    lister: Lister(item: "store", command: "list -0", scope: .data), meaning: \.meaning, explanation: explain)
}

typealias Invocation = CofferTerminal.Invocation<Command>
typealias Syntax = CofferTerminal.Syntax<Option>

extension ExitStatus {
  /// The meaning of the status, as shown in help.
  var meaning: String {
    switch self {
    case .ok: "it worked"
    case .failure: "it failed, or the doctor has found a problem"
    case .usage: "the command line is wrong"
    case .notFound: "there is no such store, product, wish or event"
    case .tryAgain: "it is too early, or no server responds: try again later"
    case .interrupted: "it was interrupted"
    }
  }
}
