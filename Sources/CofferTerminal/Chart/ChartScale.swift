import Foundation

/// Where values and moments are in a chart's grid.
struct ChartScale {
  let columns: Int
  let rows: Int
  let low: Int64
  let high: Int64
  private let start: Date
  private let end: Date
  /// The values that are drawn, from the lowest to the highest, each with a row of its own; empty where there are more
  /// of them than rows.
  private let places: [(value: Int64, row: Int)]
  /// The prices among them, the newest first.
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
    // Where not all have room, the prices come before what is crossed out.
    let drawn = [Set(values), Set(prices)].first { $0.count <= rows }?.sorted() ?? []
    places = Self.places(of: drawn, rows: rows) { Self.row($0, low, high, rows) }
  }

  /// The rows of values: the nearest to where each belongs that no other value has.
  private static func places(of values: [Int64], rows: Int, _ row: (Int64) -> Int) -> [(value: Int64, row: Int)] {
    var places = values.map { (value: $0, row: row($0)) }
    // From the lowest up, each at least one row above the last; then from the highest down, where that went too far.
    for index in places.indices.dropFirst() { places[index].row = min(places[index].row, places[index - 1].row - 1) }
    for index in places.indices.reversed() {
      let least = index + 1 < places.count ? places[index + 1].row + 1 : 0
      places[index].row = max(places[index].row, least)
    }
    return places
  }

  private static func row(_ value: Int64, _ low: Int64, _ high: Int64, _ rows: Int) -> Int {
    guard low < high else { return rows / 2 }
    let part = (Double(high) - Double(value)) / (Double(high) - Double(low))
    return Int((part * Double(rows - 1)).rounded())
  }

  /// From the top. Equal values are in the middle, different ones in different rows while there are enough.
  func row(_ value: Int64) -> Int {
    let (row, next) = (Self.row(value, low, high, rows), places.firstIndex { $0.value >= value })
    guard let next else { return row }
    if places[next].value == value { return places[next].row }
    // What is not drawn, or not among those with a place, keeps to its side of those that are.
    guard next > 0 else { return row }
    return max(places[next].row, min(row, places[next - 1].row))
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

  /// Values that deserve a label, with their rows: both ends, each price that has a row of its own, and round ones with
  /// room around them, where no line is that means something else.
  var ticks: [(row: Int, value: Int64)] {
    guard low < high, rows > 1 else { return [(row(low), low)] }
    var ticks = [(row: row(high), value: high), (row: row(low), value: low)]
    func hasRoom(_ row: Int, _ distance: Int) -> Bool { ticks.allSatisfy { abs($0.row - row) > distance } }
    for price in prices where !places.isEmpty && ticks.count < rows && hasRoom(row(price), 0) {
      ticks.append((row(price), price))
    }
    let wanted = max(1, rows / 4)
    let step = Self.round((Double(high) - Double(low)) / Double(wanted + 1))
    var value = (Double(low) / step).rounded(.up) * step
    while value < Double(high) {
      let row = row(Int64(value))
      if hasRoom(row, 1), !places.contains(where: { $0.row == row }) { ticks.append((row, Int64(value))) }
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
