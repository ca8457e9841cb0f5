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

  /// The rows as lines. The last column is as wide as it likes, or goes on below itself where a terminal ends.
  func lines(_ style: Style, indent: String = "", width: Int = .max) -> [String] {
    let widths = sides.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return zip(rows, styles).map { row, paint in
      let start = indent.count + widths.dropLast().reduce(0) { $0 + $1 + 2 }
      let cells = row.enumerated().map { index, cell in
        if sides[index] == .right { return cell.paddedLeft(to: widths[index]) }
        return index == row.count - 1 ? cell.hanging(at: start, within: width) : cell.padded(to: widths[index])
      }
      var line = cells.joined(separator: "  ")
      while line.hasSuffix(" ") { line.removeLast() }
      return indent + paint(style, line)
    }
  }
}

extension Output {
  func write(_ columns: Columns, indent: String = "") throws {
    for line in columns.lines(style, indent: indent, width: self.columns) { try writeLine(line) }
  }
}

extension String {
  /// Broken between words, each line but the first after so many blanks; as it is where there is little room.
  fileprivate func hanging(at start: Int, within width: Int) -> String {
    guard width != .max, start + count > width, width - start >= 24 else { return self }
    return wrapped(to: width - start).replacing("\n", with: "\n" + String(repeating: " ", count: start))
  }
}
