import CofferTerminal

/// The syntax of the command on wishes.
extension Table {
  static let wish = Syntax(
    summary: "wish for a price, for stock or for something new; list and change wishes",
    operands: [
      Operand(
        name: "OPERATION", completion: .words(WishOperation.allCases.map(\.rawValue)),
        summary: "add, list, show, edit or remove; may be omitted for add and list"),
      Operand(name: "SUBJECT", summary: "STORE/PRODUCT, a link to a product, a STORE, or a wish's id", repeats: true),
    ],
    options: [
      .below, .off, .inStock, .new, .search, .variant, .currency, .until, .data, .json,
    ],
    details: [
      """
      A wish is judged at each sync of the store, and notified once when it comes true:
      again only after it has been false. Only what can be bought counts: a sold-out
      size fulfils no wish. A wish that is true already when it is made is not notified.
      """,
      """
      --off compares with the price at the time when the wish is made, not with a
      crossed-out price, which a shop may set to anything; that counts only for what is
      first listed later. A price is in the currency in which it was wished: while the
      store serves another one, the wish cannot be judged.
      """,
      """
      --search is a wish about every product with these words in its title, of one STORE
      or of all. 'show' lists what a wish is about. 'edit' changes the condition and
      the expiration ('--until never').
      """,
    ],
    examples: [
      Example("watchify wish Tarn/cork-mat --below 70 --variant Large", "a target price"),
      Example("watchify wish --search \"rain jacket\" --off 20 --until 90d", "in all stores"),
      Example("watchify wish add Tarn --search lamp --new", "new lamps"),
      Example("watchify wish Tarn/cork-mat --in-stock", "back in stock"),
      Example("watchify wish list Tarn", "those about a store"),
      Example("watchify wish edit 3fa9 --below 65", "another price"),
      Example("watchify wish remove 3fa9", "forget it"),
    ],
    aliases: ["wishes", "want", "alert", "target"])
}

/// The operations of `watchify wish`.
enum WishOperation: String, CaseIterable {
  case add, list, show, edit, remove
}
