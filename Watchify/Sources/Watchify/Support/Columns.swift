import CofferTerminal

/// Rows of text in columns that follow a terminal's width. No word and no number is ever broken.
///
/// Where a table is too wide, its texts give way: they go on below themselves. Where that leaves too little of them,
/// each row becomes a record of its own: its cells one after the other, in as many lines as they need.
struct Columns {
  /// How a column is set.
  enum Side {
    case left, right
    /// Words that may go on in a further line.
    case text
  }

  private let sides: [Side]
  private let heading: [String]?
  private var rows: [[String]] = []
  private var styles: [@Sendable (Style, String) -> String] = []

  /// - Parameter heading: what each column is; records have it before each cell but the first.
  init(_ sides: Side..., heading: [String]? = nil) {
    self.sides = sides
    self.heading = heading
  }

  mutating func add(_ cells: [String], style: @escaping @Sendable (Style, String) -> String = { $1 }) {
    rows.append(cells)
    styles.append(style)
  }

  /// Each row, which may have several lines; a table's heading is before them.
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

  /// How wide each column is; `nil` where texts would have too little room.
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

  /// A row's cells one after the other, each whole where a line can hold it.
  private func record(_ row: [String], within room: Int) -> [String] {
    let indent = "  "
    var lines: [String] = []
    for (index, cell) in row.enumerated() where cell.contains(where: { $0 != " " }) {
      let item = index == 0 ? cell : [heading?[index].lowercased(), cell].compactMap { $0 }.joined(separator: " ")
      // What a row with a heading is about has a line for itself.
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
