import CofferTerminal

extension Table {
  static let quarantine = Syntax(
    summary: "show or remove what was damaged",
    operands: [
      Syntax.Operand(
        name: "ACTION", completion: .words(QuarantineAction.allCases.map(\.rawValue)),
        summary: "list, show, restore or empty", isRequired: true),
      Syntax.Operand(name: "ID", summary: "what to show, restore or remove, as listed"),
      Syntax.Operand(name: "KEY", summary: "restore: the key that receives the bytes"),
    ],
    options: [.yes] + Option.ofReadStore + [.anchorFile, .json],
    details: [
      """
      A store keeps the bytes that it finds damaged. 'list' prints their ids, dates,
      sizes, reasons and keys; 'show' prints the bytes of one; 'restore' stores them
      under a key, as they are; 'empty' removes one, or all after a confirmation.
      Without a terminal, removing all needs --yes. Of an encrypted store, 'list' and
      'empty' need no key.
      """,
      """
      coffer quarantine show ID > bytes         look at the bytes
      coffer quarantine restore ID theme        use them all the same
      """,
    ],
    examples: [
      Syntax.Example("coffer quarantine list", "the default store"),
      Syntax.Example("coffer quarantine list --json", "for scripts"),
      Syntax.Example("coffer quarantine empty --yes", "remove everything"),
    ],
    aliases: ["damaged", "lost-and-found"])
}
