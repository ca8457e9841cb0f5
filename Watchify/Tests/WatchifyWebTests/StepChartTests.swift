import CofferTerminal
import Foundation
import Testing
import WatchifyWeb

@Suite("Step charts of prices")
struct StepChartTests {
  typealias Point = StepChart.Point

  /// Returns the date a number of days after 3 January 2026.
  private func day(_ number: Double) -> Date { Date(timeIntervalSince1970: 1_767_398_400 + number * 86_400) }

  private func chart(_ points: [Point], until: Double) throws -> StepChart {
    StepChart(points, until: day(until), timeZone: try #require(TimeZone(secondsFromGMT: 0))) { value in
      let cents = String(value % 100)
      return "\(value / 100)." + (cents.count < 2 ? "0" : "") + cents
    }
  }

  /// Returns a chart with two sold-out days, then two price reductions.
  private func reduced() throws -> StepChart {
    try chart(
      [
        Point(day(0), value: 20_600), Point(day(2), value: 20_600, isAvailable: false), Point(day(4), value: 20_600),
        Point(day(7), value: 16_480, compareAt: 20_600), Point(day(10), value: 13_760, compareAt: 17_200),
      ], until: 14)
  }

  private func picture(
    _ chart: StepChart, _ width: Int, _ height: Int, _ glyphs: ChartGlyphs = .unicode, isColoured: Bool = false
  ) -> String {
    let lines = chart.lines(width: width, height: height, glyphs: glyphs, style: Style(isOn: isColoured))
    if !isColoured { #expect(lines.count <= height && lines.allSatisfy { $0.count <= width }) }
    return lines.joined(separator: "\n")
  }

  @Test("A chart shows steps, a shaded sold-out span, a dashed compare-at price, and the lowest and highest price")
  func steps() throws {
    #expect(
      picture(try reduced(), 64, 14) == """
        206.00 ┤──────────────▲─────────────┐╌╌╌╌╌╌╌╌╌╌╌┐
               │        ░░░░░░░░            │           ╎
               │        ░░░░░░░░            │           ╎
               │        ░░░░░░░░            │           ╎
               │        ░░░░░░░░            │           ╎
               │        ░░░░░░░░            │           └╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
        164.80 ┤        ░░░░░░░░            └───────────┐
               │        ░░░░░░░░                        │
        150.00 ┤        ░░░░░░░░                        │
               │        ░░░░░░░░                        │
        137.60 ┤        ░░░░░░░░                        └───────▼───────
               └┬───────────┬───────────┬───────┬───────────┬──────────┬
                3 Jan     6 Jan       9 Jan  11 Jan      14 Jan   17 Jan
        ▲ highest 206.00   ▼ lowest 137.60   ░ sold out   ╌ compare at
        """)
  }

  @Test("Twenty columns are enough for a chart")
  func narrow() throws {
    #expect(
      picture(try reduced(), 20, 10) == """
        206.00 ┤───▲──┐╌┐
               │ ░░░  │ └╌╌╌
        164.80 ┤ ░░░  └─┐
        137.60 ┤ ░░░    └─▼─
               └┬──────────┬
                3 Jan 17 Jan
        ▲ highest 206.00
        ▼ lowest 137.60
        ░ sold out
        ╌ compare at
        """)
  }

  @Test("ASCII")
  func ascii() throws {
    #expect(
      picture(try reduced(), 60, 12, .ascii) == """
        206.00 +-------------^------------+...........
               |       ////////           |          :
               |       ////////           |          :
               |       ////////           |          ...............
        164.80 +       ////////           +----------+
               |       ////////                      |
               |       ////////                      |
        137.60 +       ////////                      +-------v------
               ++----------+----------+-----------------+----------+
                3 Jan    6 Jan      9 Jan            14 Jan   17 Jan
        ^ highest 206.00   v lowest 137.60   / sold out
        . compare at
        """)
  }

  @Test("The legend is omitted if there is no room for it")
  func low() throws {
    #expect(
      picture(try reduced(), 40, 4) == """
        206.00 ┤────────▲───────┐╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
        137.60 ┤    ░░░░░░      └──────────▼────
               └┬──────────┬────────┬──────────┬
                3 Jan    8 Jan   12 Jan   17 Jan
        """)
  }

  @Test("Without room to draw, the chart is a sentence")
  func sentence() throws {
    #expect(
      picture(try reduced(), 11, 20) == """
        From 206.00
        on 3 Jan to
        137.60 on
        13 Jan;
        lowest
        137.60,
        highest
        206.00;
        compare-at
        price
        172.00;
        sold out
        5-7 Jan.
        """)
  }

  @Test("A constant price takes three lines, regardless of the height")
  func onePoint() throws {
    let points = [Point(day(0), value: 20_600)]
    #expect(
      picture(try chart(points, until: 0), 40, 6) == """
        206.00 ┤────────────────────────────────
               └┬───────────────────────────────
                3 Jan
        """)
  }

  @Test("In a single row the shade of a sold-out span replaces the line, and no price is marked as lowest")
  func equal() throws {
    let points = [Point(day(0), value: 20_600), Point(day(3), value: 20_600, isAvailable: false)]
    #expect(
      picture(try chart(points, until: 6), 40, 7) == """
        206.00 ┤────────────────░░░░░░░░░░░░░░░░
               └┬─────────┬──────────┬─────────┬
                3 Jan   5 Jan      7 Jan   9 Jan
        ░ sold out
        """)
  }

  @Test("A constant price and its constant compare-at price take one row each")
  func constantCompareAt() throws {
    let points = [
      Point(day(0), value: 6_600, compareAt: 9_600), Point(day(3), value: 6_600, isAvailable: false, compareAt: 9_600),
    ]
    let shown = picture(try chart(points, until: 6), 40, 12)
    #expect(
      shown == """
        96.00 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
        66.00 ┤────────────────░░░░░░░░░░░░░░░░░
              └┬──────────┬──────────┬─────────┬
               3 Jan    5 Jan      7 Jan   9 Jan
        ░ sold out   ╌ compare at
        """)
  }

  @Test("The label of a row is the exact price that is drawn in it")
  func ownRow() throws {
    let points = [Point(day(0), value: 9_700, compareAt: 12_500), Point(day(7), value: 6_790, compareAt: 9_700)]
    #expect(
      picture(try chart(points, until: 14), 40, 12) == """
        125.00 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌┐
               │                ╎
               │                ╎
         97.00 ┤────────▲───────┐╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
               │                │
               │                │
               │                │
         67.90 ┤                └───────▼───────
               └┬──────────┬────────┬──────────┬
                3 Jan    8 Jan   12 Jan   17 Jan
        ▲ highest 97.00   ▼ lowest 67.90
        ╌ compare at
        """)
  }

  @Test("Slightly different prices are in different rows, so that every step is visible")
  func smallSteps() throws {
    let points = [
      Point(day(0), value: 20_000), Point(day(4), value: 10_100), Point(day(8), value: 10_000),
      Point(day(12), value: 19_900),
    ]
    #expect(
      picture(try chart(points, until: 16), 40, 7) == """
        200.00 ┤────▲───┐
        199.00 ┤        │               ┌───────
        101.00 ┤        └───────┐       │
        100.00 ┤                └───▼───┘
               └┬─────────┬─────────┬──────────┬
                3 Jan   8 Jan    13 Jan   19 Jan
        ▲ highest 200.00   ▼ lowest 100.00
        """)
    // With more prices than rows, their order is preserved.
    let many = (0..<40).map { Point(day(Double($0)), value: Int64($0 * $0)) }
    let lines = try chart(many, until: 40).lines(width: 60, height: 8, style: Style(isOn: false))
    #expect(lines.count == 8)
  }

  @Test("A chart of a day shows hours")
  func hours() throws {
    let points = [
      Point(day(0), value: 999), Point(day(0.3), value: 1_099), Point(day(0.5), value: 899, isAvailable: false),
    ]
    #expect(
      picture(try chart(points, until: 1), 48, 9) == """
        10.99 ┤            ┌───▲───┐░░░░░░░░░░░░░░░░░░░░
              │            │       │░░░░░░░░░░░░░░░░░░░░
              │            │       │░░░░░░░░░░░░░░░░░░░░
         9.99 ┤────────────┘       │░░░░░░░░░░░░░░░░░░░░
              │                    │░░░░░░░░░░░░░░░░░░░░
         8.99 ┤                    └──────────▼─────────
              └┬─────────┬─────────┬─────────┬─────────┬
               00:00   06:00     12:00     18:00   00:00
        ▲ highest 10.99   ▼ lowest 8.99   ░ sold out
        """)
  }

  @Test("A chart of more than a year shows months")
  func months() throws {
    let points = [Point(day(0), value: 100), Point(day(200), value: 300), Point(day(210), value: 200)]
    #expect(
      picture(try chart(points, until: 400), 48, 7) == """
        3.00 ┤                     ▲┐
             │                     ││
        2.00 ┤                     │└───────────────────
        1.00 ┤──────────▼──────────┘
             └┬───────────────────────────┬────────────┬
              Jan 2026                Oct 2026  Feb 2027
        ▲ highest 3.00   ▼ lowest 1.00
        """)
  }

  @Test("Colours do not change the characters")
  func colours() throws {
    let coloured = picture(try reduced(), 30, 8, isColoured: true)
    #expect(
      coloured.replacing("\u{1B}", with: "~") == """
        206.00 ~[2m┤~[0m~[1m─────~[0m~[31m▲~[0m~[1m─────┐~[0m~[2m╌╌╌┐~[0m
        164.80 ~[2m┤~[0m   ~[2m░░░░~[0m    ~[1m└───┐~[0m~[2m╌╌╌╌╌╌~[0m
        137.60 ~[2m┤~[0m   ~[2m░░░░~[0m        ~[1m└───~[0m~[32m▼~[0m~[1m──~[0m
               ~[2m└┬──────────┬─────────┬~[0m
                3 Jan   10 Jan  17 Jan
        ~[31m▲~[0m highest 206.00
        ~[32m▼~[0m lowest 137.60   ~[2m░~[0m sold out
        ~[2m╌~[0m compare at
        """)
    let plain = coloured.replacing(/\u{1B}\[\d+m/, with: "")
    #expect(plain == picture(try reduced(), 30, 8))
  }

  @Test("The last of two points with the same date applies")
  func ties() throws {
    let points = [Point(day(1), value: 300), Point(day(0), value: 100), Point(day(1), value: 200)]
    #expect(
      try chart(points, until: 2).sentence.hasPrefix("From 1.00 on 3 Jan to 2.00 on 4 Jan; lowest 1.00, highest 3.00"))
  }

  @Test("With thousands of points, each column includes its lowest and highest")
  func many() throws {
    var seed: UInt64 = 42
    let points = (0..<5_000).map { index in
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let value = index == 1_234 ? 50_000 : index == 4_321 ? 1 : 20_000 + Int64(seed >> 40) % 10_000
      return Point(day(Double(index) / 10), value: value)
    }
    let lines = try chart(points, until: 500).lines(width: 60, height: 16, style: Style(isOn: false))
    let grid = lines.prefix(13).map { Array($0.dropFirst(8)) }
    func glyph(_ row: Int, _ column: Int) -> Character { column < grid[row].count ? grid[row][column] : " " }
    // 52 columns of 96 points: one spike reaches the top, one the bottom, all others remain between.
    let (high, low) = (1_234 * 52 / 5_000, 4_321 * 52 / 5_000)
    #expect(glyph(0, high) == "▲" && glyph(12, low) == "▼")
    for column in 0..<52 {
      let rows = (0..<13).filter { glyph($0, column) != " " }
      #expect(rows.first == (column == high ? 0 : 5) && rows.last == (column == low ? 12 : 7), "column \(column)")
    }
  }

  @Test("Extreme values and dates are drawn without overflow")
  func extremes() throws {
    let points = [Point(.distantPast, value: .min), Point(day(0), value: .max), Point(.distantFuture, value: 0)]
    for (width, height) in [(12, 3), (20, 8), (.max, .max), (0, 0), (-1, -1)] {
      let lines = try chart(points, until: 0).lines(width: width, height: height, style: Style(isOn: false))
      #expect(!lines.isEmpty && lines.count <= 100 && lines.allSatisfy { $0.count <= 240 })
    }
  }

  @Test("The sentence counts more than three sold-out spans and names the last")
  func sentences() throws {
    let flapping = (0..<12).map { Point(day(Double($0)), value: 100, isAvailable: $0 % 2 == 0) }
    #expect(try chart(flapping, until: 12).sentence == "1.00 since 3 Jan; sold out 6 times, last since 14 Jan.")
    #expect(
      try chart(Array(flapping.prefix(6)), until: 340).sentence
        == "1.00 since 3 Jan; sold out 4-5 Jan, 6-7 Jan and since 8 Jan.")
    let years = [Point(day(0), value: 100), Point(day(20), value: 90, isAvailable: false), Point(day(40), value: 90)]
    #expect(
      try chart(years, until: 400).sentence
        == "From 1.00 on 3 Jan 2026 to 0.90 on 23 Jan 2026; lowest 0.90, highest 1.00; sold out 23 Jan - 12 Feb 2026.")
    #expect(try chart([], until: 1).sentence == "There is no price yet.")
  }
}
