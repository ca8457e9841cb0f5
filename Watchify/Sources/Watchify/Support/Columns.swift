import CofferTerminal

/// Rows of text in columns that adapt to the width of a terminal. Words and numbers are never broken.
///
/// If a table is too wide, its text columns are wrapped. If that would leave them too narrow, each row is printed as a
/// record: its cells one after the other, in as many lines as needed.
struct Columns {
  /// The alignment of a column.
  enum Side {
    case left, right
    /// Left-aligned words that may be wrapped.
    case text
  }

  private let sides: [Side]
  private let heading: [String]?
  private var rows: [[String]] = []
  private var styles: [@Sendable (Style, String) -> String] = []

  /// Creates a table without rows.
  /// - Parameter heading: the column titles; in records they precede each cell except the first.
  init(_ sides: Side..., heading: [String]? = nil) {
    self.sides = sides
    self.heading = heading
  }

  mutating func add(_ cells: [String], style: @escaping @Sendable (Style, String) -> String = { $1 }) {
    rows.append(cells)
    styles.append(style)
  }

  /// Returns the rows as texts, each of one or more lines, preceded by the heading of a table.
  func lines(_ style: Style, indent: String = "", width: Int = .max) -> [String] {
    let room = width == .max ? width : max(1, width - indent.count)
    let widths = widths(within: room)
    var blocks = zip(rows, styles).map { row, paint in
      let lines = widths.map { line(row, $0) } ?? record(row, within: room)
      return lines.map { paint(style, $0) }
    }
    if let heading, let widths { blocks.insert(line(heading, widths).map(style.dim), at: 0) }
    return blocks.map { lines in lines.map { indent + $0.loosened }.joined(separator: "\n") }
  }

  /// Returns the width of each column; `nil` if the text columns would be too narrow.
  private func widths(within room: Int) -> [Int]? {
    let all = rows + (heading.map { [$0] } ?? [])
    var widths = sides.indices.map { column in all.map { $0[column].columns }.max() ?? 0 }
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - room
    guard excess > 0 else { return widths }
    let least = sides.indices.map { column in
      guard sides[column] == .text else { return widths[column] }
      let word = all.lazy.flatMap { $0[column].split(separator: " ") }.map { String($0).columns }.max() ?? 0
      return min(widths[column], max(16, min(word, 24)))
    }
    while excess > 0 {
      let yielding = sides.indices.filter { widths[$0] > least[$0] }
      guard let widest = yielding.max(by: { widths[$0] < widths[$1] }) else { return nil }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  private func line(_ row: [String], _ widths: [Int]) -> [String] {
    let cells = row.indices.map { column in
      sides[column] == .text ? row[column].folded(to: widths[column]) : [row[column]]
    }
    return (0..<(cells.map(\.count).max() ?? 0)).map { number in
      let parts = cells.indices.map { column in
        let text = number < cells[column].count ? cells[column][number] : ""
        return sides[column] == .right ? text.paddedLeft(to: widths[column]) : text.padded(to: widths[column])
      }
      return parts.joined(separator: "  ").withoutBlanksAtEnd
    }
  }

  /// Returns a row as a record. A cell is only wrapped if it does not fit into a line.
  private func record(_ row: [String], within room: Int) -> [String] {
    let indent = "  "
    var lines: [String] = []
    for (index, cell) in row.enumerated() where cell.contains(where: { $0 != " " }) {
      let item = index == 0 ? cell : [heading?[index].lowercased(), cell].compactMap { $0 }.joined(separator: " ")
      // With a heading, the first cell has its own line.
      let mayJoin = index > (heading == nil ? 0 : 1)
      if mayJoin, let last = lines.last, last.columns + 2 + item.columns <= room {
        lines[lines.count - 1] = last + "  " + item
      } else {
        let start = lines.isEmpty ? "" : indent
        lines += item.folded(to: max(1, room - indent.count)).map { start + $0 }
      }
    }
    return lines
  }
}

extension Output {
  func write(_ columns: Columns, indent: String = "") throws {
    for line in columns.lines(style, indent: indent, width: self.columns) { try writeLine(line) }
  }
}

extension String {
  fileprivate var withoutBlanksAtEnd: String {
    var text = self
    while text.hasSuffix(" ") { text.removeLast() }
    return text
  }
}
