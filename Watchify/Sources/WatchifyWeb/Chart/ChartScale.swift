import Foundation

/// The mapping of values and dates to the rows and columns of a chart.
struct ChartScale {
  let columns: Int
  let rows: Int
  let low: Int64
  let high: Int64
  private let start: Date
  private let end: Date
  /// The values that are drawn, from the lowest to the highest, each with a separate row; empty if there are more
  /// values than rows.
  private let positions: [(value: Int64, row: Int)]
  /// The prices of the chart, newest first.
  private let prices: [Int64]

  init(_ chart: StepChart, from start: Date, columns: Int, rows: Int) {
    let values = chart.points.lazy.flatMap { [$0.value, $0.compareAt ?? $0.value] }
    low = values.min() ?? 0
    high = values.max() ?? 0
    self.columns = columns
    self.rows = rows
    self.start = start
    end = chart.until
    let prices = chart.points.reversed().map(\.value)
    self.prices = prices
    let (low, high) = (low, high)
    // If there is not room for all values, prices take precedence over compare-at prices.
    let drawn = [Set(values), Set(prices)].first { $0.count <= rows }?.sorted() ?? []
    positions = Self.positions(of: drawn, rows: rows) { Self.row($0, low, high, rows) }
  }

  /// Assigns to each value the free row that is nearest to its exact position.
  private static func positions(of values: [Int64], rows: Int, _ row: (Int64) -> Int) -> [(value: Int64, row: Int)] {
    var positions = values.map { (value: $0, row: row($0)) }
    // First upwards, each value at least one row above the last; then downwards, to correct rows above the top.
    for index in positions.indices.dropFirst() {
      positions[index].row = min(positions[index].row, positions[index - 1].row - 1)
    }
    for index in positions.indices.reversed() {
      let least = index + 1 < positions.count ? positions[index + 1].row + 1 : 0
      positions[index].row = max(positions[index].row, least)
    }
    return positions
  }

  private static func row(_ value: Int64, _ low: Int64, _ high: Int64, _ rows: Int) -> Int {
    guard low < high else { return rows / 2 }
    let part = (Double(high) - Double(value)) / (Double(high) - Double(low))
    return Int((part * Double(rows - 1)).rounded())
  }

  /// Returns the row of a value, counted from the top. Different values have different rows if there are enough rows;
  /// if all values are equal, it is the middle row.
  func row(_ value: Int64) -> Int {
    let (row, next) = (Self.row(value, low, high, rows), positions.firstIndex { $0.value >= value })
    guard let next else { return row }
    if positions[next].value == value { return positions[next].row }
    // A value without a separate row stays between the rows of its neighbours.
    guard next > 0 else { return row }
    return max(positions[next].row, min(row, positions[next - 1].row))
  }

  func column(_ date: Date) -> Int { min(columns - 1, Int(position(date).rounded(.down))) }

  /// Returns the columns that a span from `start` to before `end` covers.
  func columns(from start: Date, to end: Date) -> ClosedRange<Int> {
    let first = column(start)
    let last = min(columns - 1, Int(position(end).rounded(.up)) - 1)
    return first...max(first, last)
  }

  /// Returns the date in the middle of a column; for the first and the last column, the start and end of the chart.
  func date(_ column: Int) -> Date {
    if column == 0 { return start }
    if column == columns - 1 { return end }
    return start.addingTimeInterval(end.timeIntervalSince(start) * (Double(column) + 0.5) / Double(columns))
  }

  private func position(_ date: Date) -> Double {
    let span = end.timeIntervalSince(start)
    return span > 0 ? max(0, date.timeIntervalSince(start) / span * Double(columns)) : 0
  }

  /// The values to label, with their rows: both ends, each price with a separate row, and round values with free rows
  /// around them that do not coincide with a drawn value.
  var ticks: [(row: Int, value: Int64)] {
    guard low < high, rows > 1 else { return [(row(low), low)] }
    var ticks = [(row: row(high), value: high), (row: row(low), value: low)]
    func hasRoom(_ row: Int, _ distance: Int) -> Bool { ticks.allSatisfy { abs($0.row - row) > distance } }
    for price in prices where !positions.isEmpty && ticks.count < rows && hasRoom(row(price), 0) {
      ticks.append((row(price), price))
    }
    let wanted = max(1, rows / 4)
    let step = Self.round((Double(high) - Double(low)) / Double(wanted + 1))
    var value = (Double(low) / step).rounded(.up) * step
    while value < Double(high) {
      let row = row(Int64(value))
      if hasRoom(row, 1), !positions.contains(where: { $0.row == row }) { ticks.append((row, Int64(value))) }
      value += step
    }
    return ticks
  }

  /// Rounds a step up to one, two or five times a power of ten.
  private static func round(_ step: Double) -> Double {
    let power = pow(10, max(0, log10(max(1, step)).rounded(.down)))
    return [1, 2, 5, 10].map { $0 * power }.first { $0 >= step } ?? step
  }
}
