extension Price {
  /// Creates an amount from text that a person has entered, such as "179.90", "$1,250" or "67,90 €"; `nil` for other
  /// text.
  ///
  /// A comma is a decimal comma unless exactly three digits follow it; of two different separators, the last one is
  /// that of the decimals. Currency marks may stand before and after the digits.
  public init?(entered text: String) {
    func isDigit(_ character: Character) -> Bool { "0"..."9" ~= character }
    guard text.utf8.count <= 64, let first = text.firstIndex(where: isDigit), let last = text.lastIndex(where: isDigit),
      !text.contains("-"), !text.contains("\u{2212}")
    else { return nil }
    let amount = text[first...last].filter { !$0.isWhitespace && $0 != "'" && $0 != "’" }
    let separators = amount.filter { !isDigit($0) }
    guard separators.allSatisfy({ $0 == "." || $0 == "," }) else { return nil }
    var point: Character?
    if let end = separators.last, separators.count(where: { $0 == end }) == 1 {
      let decimals = amount.reversed().prefix { $0 != end }.count
      if end == "." || decimals != 3 || separators.count > 1 { point = end }
    }
    // Thousands are separated by one kind of mark, which is not the decimal one.
    let marks = Set(point == nil ? separators[...] : separators.dropLast())
    guard marks.count < 2, point.map(marks.contains) != true else { return nil }
    let plain = amount.filter { isDigit($0) || $0 == point }
    self.init(point == "," ? plain.replacing(",", with: ".") : plain)
  }
}
