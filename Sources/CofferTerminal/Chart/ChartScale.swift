import Foundation

/// Where values and moments are in a chart's grid.
struct ChartScale {
  let columns: Int
  let rows: Int
  let low: Int64
  let high: Int64
  private let start: Date
  private let end: Date

  init(_ chart: StepChart, from start: Date, columns: Int, rows: Int) {
    let values = chart.points.lazy.flatMap { [$0.value, $0.compareAt ?? $0.value] }
    low = values.min() ?? 0
    high = values.max() ?? 0
    self.columns = columns
    self.rows = rows
    self.start = start
    end = chart.until
  }

  /// From the top. Equal values are in the middle.
  func row(_ value: Int64) -> Int {
    guard low < high else { return rows / 2 }
    let part = (Double(high) - Double(value)) / (Double(high) - Double(low))
    return Int((part * Double(rows - 1)).rounded())
  }

  func column(_ date: Date) -> Int { min(columns - 1, Int(position(date).rounded(.down))) }

  /// The columns in which something is that ends before `end`.
  func columns(from start: Date, to end: Date) -> ClosedRange<Int> {
    let first = column(start)
    let last = min(columns - 1, Int(position(end).rounded(.up)) - 1)
    return first...max(first, last)
  }

  /// The moment in the middle of a column; the first and the last have the chart's own ends.
  func date(_ column: Int) -> Date {
    if column == 0 { return start }
    if column == columns - 1 { return end }
    return start.addingTimeInterval(end.timeIntervalSince(start) * (Double(column) + 0.5) / Double(columns))
  }

  private func position(_ date: Date) -> Double {
    let span = end.timeIntervalSince(start)
    return span > 0 ? max(0, date.timeIntervalSince(start) / span * Double(columns)) : 0
  }

  /// Values that deserve a label, with their rows: both ends, and round ones between with room around them.
  var ticks: [(row: Int, value: Int64)] {
    guard low < high, rows > 1 else { return [(row(low), low)] }
    var ticks = [(row: row(high), value: high), (row: row(low), value: low)]
    let wanted = max(1, rows / 4)
    let step = Self.round((Double(high) - Double(low)) / Double(wanted + 1))
    var value = (Double(low) / step).rounded(.up) * step
    while value < Double(high) {
      let row = row(Int64(value))
      if ticks.allSatisfy({ abs($0.row - row) > 1 }) { ticks.append((row, Int64(value))) }
      value += step
    }
    return ticks
  }

  /// One, two or five times a power of ten: the next above.
  private static func round(_ step: Double) -> Double {
    let power = pow(10, max(0, log10(max(1, step)).rounded(.down)))
    return [1, 2, 5, 10].map { $0 * power }.first { $0 >= step } ?? step
  }
}
