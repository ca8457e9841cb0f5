import CofferTerminal

/// Rows of text in columns.
struct Columns {
  /// How a column is set.
  enum Side { case left, right }

  private let sides: [Side]
  private var rows: [[String]] = []
  private var styles: [@Sendable (Style, String) -> String] = []

  init(_ sides: Side...) { self.sides = sides }

  mutating func add(_ cells: [String], style: @escaping @Sendable (Style, String) -> String = { $1 }) {
    rows.append(cells)
    styles.append(style)
  }

  /// The rows as lines; the last column is as wide as it likes.
  func lines(_ style: Style, indent: String = "") -> [String] {
    let widths = sides.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return zip(rows, styles).map { row, paint in
      let cells = row.enumerated().map { index, cell in
        if sides[index] == .right { return cell.paddedLeft(to: widths[index]) }
        return index == row.count - 1 ? cell : cell.padded(to: widths[index])
      }
      var line = cells.joined(separator: "  ")
      while line.hasSuffix(" ") { line.removeLast() }
      return indent + paint(style, line)
    }
  }
}

extension Output {
  func write(_ columns: Columns, indent: String = "") throws {
    for line in columns.lines(style, indent: indent) { try writeLine(line) }
  }
}
