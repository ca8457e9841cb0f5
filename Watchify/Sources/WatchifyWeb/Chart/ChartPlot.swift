import CofferTerminal
import Foundation

/// A chart as a grid of cells, from which its lines of text are made.
struct ChartPlot {
  private enum Ink { case none, line, faint, low, high }

  private struct Cell {
    var glyph: Character = " "
    var ink = Ink.none
  }

  /// The course of a series within one column: its first, last, lowest and highest value.
  private struct Span {
    var enter: Int64
    var exit: Int64
    var low: Int64
    var high: Int64

    init(_ value: Int64) { (enter, exit, low, high) = (value, value, value, value) }

    func reaching(_ value: Int64) -> Span {
      var span = self
      span.exit = value
      span.low = min(low, value)
      span.high = max(high, value)
      return span
    }
  }

  private let chart: StepChart
  private let glyphs: ChartGlyphs
  private let scale: ChartScale
  private let margin: Int
  private let legend: [[Cell]]
  private var grid: [[Cell]]

  /// Draws a chart; `nil` if there is nothing to draw.
  init?(_ chart: StepChart, width: Int, height: Int, glyphs: ChartGlyphs) {
    guard let first = chart.points.first else { return nil }
    self.chart = chart
    self.glyphs = glyphs
    let legend = Self.legend(chart, glyphs, width: width)
    // A constant price is one line, regardless of the height.
    let constant = chart.constantRows
    self.legend = height - 2 - legend.count >= constant ?? 2 ? legend : []
    let rows = min(constant ?? .max, height - 2 - self.legend.count)
    let draft = ChartScale(chart, from: first.date, columns: width, rows: rows)
    let widest = draft.ticks.map { chart.label($0.value).count }.max() ?? 0
    // If labels would leave no room for the line, only the legend is drawn.
    margin = width - widest - 2 >= 8 ? widest + 1 : 0
    scale = ChartScale(chart, from: first.date, columns: width - margin - 1, rows: rows)
    grid = Array(repeating: Array(repeating: Cell(), count: scale.columns), count: rows)
    if constant == nil { shade(in: Array(grid.indices)) }
    draw(spans(of: \.compareAt), glyphs.dashed, .faint)
    let spans = spans(of: \.value)
    draw(spans, glyphs.line, .line)
    // A constant price has no other rows to shade, so the shade replaces the line.
    if constant != nil, let value = chart.points.first?.value { shade(in: [scale.row(value)]) }
    mark(spans)
  }

  // MARK: The line

  /// Returns the course of a series in each column; `nil` for columns without a value.
  private func spans(of value: (StepChart.Point) -> Int64?) -> [Span?] {
    var spans: [Span?] = Array(repeating: nil, count: scale.columns)
    var current: Int64?
    var next = 0
    for column in 0..<scale.columns {
      var span = current.map { Span($0) }
      while next < chart.points.count, scale.column(chart.points[next].date) == column {
        current = value(chart.points[next])
        next += 1
        guard let current else { continue }
        span = span?.reaching(current) ?? Span(current)
      }
      spans[column] = span
    }
    return spans
  }

  private mutating func draw(_ spans: [Span?], _ glyphs: [Character], _ ink: Ink) {
    for (column, span) in spans.enumerated() {
      guard let span else { continue }
      let (top, bottom) = (scale.row(span.high), scale.row(span.low))
      for row in top...bottom {
        var sides = (row > top ? 1 : 0) + (row < bottom ? 2 : 0)
        if row == scale.row(span.enter) { sides += 4 }
        if row == scale.row(span.exit) { sides += 8 }
        grid[row][column] = Cell(glyph: glyphs[sides], ink: ink)
      }
    }
  }

  private mutating func shade(in rows: [Int]) {
    for span in chart.soldOut {
      for column in scale.columns(from: span.start, to: span.end ?? chart.until) {
        for row in rows { grid[row][column] = Cell(glyph: glyphs.soldOut, ink: .faint) }
      }
    }
  }

  /// Marks the lowest and the highest value on the line, preferably in columns where it is horizontal.
  private mutating func mark(_ spans: [Span?]) {
    guard let extremes = chart.extremes else { return }
    for (index, glyph, ink) in [(extremes.high, glyphs.high, Ink.high), (extremes.low, glyphs.low, .low)] {
      let point = chart.points[index]
      let next = chart.points[index...].first { $0.value != point.value }?.date ?? chart.until
      let columns = scale.columns(from: point.date, to: next)
      let straight = columns.filter { column in
        spans[column].map { $0.low == $0.high && $0.low == point.value } ?? false
      }
      let column = straight.isEmpty ? columns.lowerBound : straight[straight.count / 2]
      grid[scale.row(point.value)][column] = Cell(glyph: glyph, ink: ink)
    }
  }

  // MARK: Around it

  private static func legend(_ chart: StepChart, _ glyphs: ChartGlyphs, width: Int) -> [[Cell]] {
    var items: [(Character, Ink, String)] = []
    if let extremes = chart.extremes {
      items.append((glyphs.high, .high, "highest \(chart.label(chart.points[extremes.high].value))"))
      items.append((glyphs.low, .low, "lowest \(chart.label(chart.points[extremes.low].value))"))
    }
    if !chart.soldOut.isEmpty { items.append((glyphs.soldOut, .faint, "sold out")) }
    if chart.points.contains(where: { $0.compareAt != nil }) { items.append((glyphs.dash, .faint, "compare at")) }
    var lines: [[Cell]] = []
    for (glyph, ink, text) in items {
      let cells = ([Cell(glyph: glyph, ink: ink)] + (" " + text).map { Cell(glyph: $0) }).prefix(width)
      if let last = lines.last, last.count + 3 + cells.count <= width {
        lines[lines.count - 1] = last + Array(repeating: Cell(), count: 3) + cells
      } else {
        lines.append(Array(cells))
      }
    }
    return lines
  }

  /// Returns the columns that are labelled with a date, as many as there is room for.
  private var timeTicks: [(column: Int, start: Int, text: String)] {
    let last = scale.columns - 1
    let (first, end) = (chart.dates.tick(scale.date(0)), chart.dates.tick(scale.date(last)))
    var ticks = [(column: 0, start: 0, text: first)]
    guard first.count + 1 + end.count <= scale.columns else { return ticks }
    let parts = max(1, scale.columns / (max(first.count, end.count) + 4))
    for part in 1..<max(2, parts) where parts > 1 {
      let date = chart.dates.rounded(scale.date(last * part / parts))
      let (column, text) = (scale.column(date), chart.dates.tick(date))
      let start = column - text.count / 2
      guard let before = ticks.last, text != before.text, text != end, start >= before.start + before.text.count + 2,
        start + text.count + 2 <= scale.columns - end.count
      else { continue }
      ticks.append((column, start, text))
    }
    if ticks.count > 1 || first != end { ticks.append((last, scale.columns - end.count, end)) }
    return ticks
  }

  func lines(_ style: Style) -> [String] {
    let labels = margin > 0 ? scale.ticks : []
    var lines = grid.indices.map { row in
      let value = labels.first { $0.row == row }?.value
      let text = (value.map(chart.label) ?? "").paddedLeft(to: margin - 1) + (margin > 0 ? " " : "")
      let axis = value == nil ? glyphs.axis : glyphs.valueTick
      return text.map { Cell(glyph: $0) } + [Cell(glyph: axis, ink: .faint)] + grid[row]
    }
    let blanks = Array(repeating: Cell(), count: margin)
    var axis = Array(repeating: Cell(glyph: glyphs.timeline, ink: .faint), count: scale.columns)
    var dates = Array(repeating: Cell(), count: scale.columns)
    for tick in timeTicks {
      axis[tick.column].glyph = glyphs.timeTick
      for (offset, glyph) in tick.text.enumerated() where tick.start + offset < dates.count {
        dates[tick.start + offset].glyph = glyph
      }
    }
    lines.append(blanks + [Cell(glyph: glyphs.corner, ink: .faint)] + axis)
    lines.append(blanks + [Cell()] + dates)
    return (lines + legend).map { text($0, style) }
  }

  /// Returns a row as text, with one escape sequence for each run of equal colour and without trailing blanks.
  private func text(_ cells: [Cell], _ style: Style) -> String {
    let end = cells.lastIndex { $0.glyph != " " }.map { $0 + 1 } ?? 0
    var text = ""
    var rest = cells[..<end]
    while let first = rest.first {
      let run = rest.prefix { $0.ink == first.ink }
      let part = String(run.map(\.glyph))
      let styled =
        switch first.ink {
        case .none: part
        case .line: style.bold(part)
        case .faint: style.dim(part)
        case .low: style.green(part)
        case .high: style.red(part)
        }
      text += styled
      rest = rest.dropFirst(run.count)
    }
    return text
  }
}
