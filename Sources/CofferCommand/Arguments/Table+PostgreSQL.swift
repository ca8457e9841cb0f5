import CofferTerminal

extension Table {
  /// The form of a location in a PostgreSQL server.
  static let postgresqlKind = (
    form: "postgresql://HOST/DB?store=NAME", meaning: "one of many in a PostgreSQL server"
  )

  static let postgresql = Syntax(
    summary: "create, list, grant and drop stores in a PostgreSQL server",
    operands: [
      Syntax.Operand(
        name: "ACTION", completion: .words(PostgreSQLAction.allCases.map(\.rawValue)),
        summary: "init, migrate, stores, grant or drop", isRequired: true),
      Syntax.Operand(name: "ROLE", summary: "grant: the role of the server that receives the grant"),
    ],
    options: [.store, .write, .yes, .json],
    details: [
      """
      'init' creates the tables, if the database has none, and the store. 'migrate'
      brings tables of an older version to this one. 'stores' lists the stores that
      the role may read. 'grant' allows a role to read one store, with --write also
      to write it. 'drop' removes a store with all its values, after a confirmation.
      """,
      """
      The store is named by --store or COFFER_STORE. Its password comes from
      ~/.pgpass or a service file: one in the location is refused.
      """,
    ],
    examples: [
      Syntax.Example("coffer postgresql init", "what COFFER_STORE names"),
      Syntax.Example("coffer postgresql grant reporting", "reading, for a role"),
      Syntax.Example("coffer postgresql stores --json", "for scripts"),
    ],
    aliases: ["postgres", "pg"])
}
