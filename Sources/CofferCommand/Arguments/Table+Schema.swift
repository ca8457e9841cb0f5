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
}
