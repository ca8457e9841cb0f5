import CofferTerminal

extension Table {
  private static let store = Syntax.Operand(
    name: "STORE", completion: .locations, summary: "the store: PATH or KIND:ADDRESS", isRequired: true)

  static let schema = Syntax(
    summary: "list the versions of the values in a store", operands: [store],
    options: [.prefix, .readOnly] + Option.ofKey + [.ignoreForeign, .json],
    details: [
      """
      Shows, for each schema and version, how many values have it. Values without a
      mark were stored without a schema.
      """
    ],
    examples: [
      Syntax.Example("coffer schema app.db", "for people"),
      Syntax.Example("coffer schema app.db --json", "for scripts"),
    ],
    aliases: ["versions", "schemas"])

  static let migrate = Syntax(
    summary: "bring values to another version of their schema", operands: [store],
    options: [.step, .limit, .prefix, .schemaName, .dryRun] + Option.ofKey + [.ignoreForeign, .json],
    details: [
      """
      Each step is a command for the shell: it reads the old bytes of one value on
      standard input and writes the new ones on standard output. If it fails, takes
      too long or writes more than the store accepts, the value stays as it is, and
      the status is 1. Several steps are chained, and are run for each value.
      """,
      """
      Values that are marked with the schema are migrated. With --prefix and
      --schema, values without a mark count as version 1. Steps may lead back to an
      older version, after a release was withdrawn.
      """,
      """
      A hundred values are stored at a time. After Ctrl-C or a failure, run the same
      command again to continue. --dry-run runs the steps and stores nothing.
      """,
    ],
    examples: [
      Syntax.Example("coffer migrate app.db --schema ui --prefix s --step '1:2:rev'", "a step"),
      Syntax.Example("coffer migrate app.db --step '2:1:rev'", "back again"),
    ],
    aliases: ["upgrade", "convert"])
}
