import Foundation
import FoundationXML
import Testing
import WatchifyKit

@testable import WatchifyWeb

@Suite("Charts of prices") struct ChartTests {
  private typealias Moment = (day: Double, price: Decimal, compareAt: Decimal?, available: Bool)

  private let start = Date(timeIntervalSince1970: 1_790_000_000)
  private var end: Date { start.addingTimeInterval(100 * 86_400) }
  private var moments: Moments {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return Moments(now: end, calendar: calendar)
  }

  private func variant(
    _ points: [Moment], currency: String = "USD"
  ) -> VariantDTO {
    VariantDTO(
      id: 1, title: "M", price: points.last?.price ?? 0, available: true, isMissing: false,
      history: points.map {
        SnapshotDTO(
          capturedAt: start.addingTimeInterval($0.day * 86_400), price: $0.price, compareAtPrice: $0.compareAt,
          available: $0.available, currency: currency)
      })
  }

  private func chart(
    _ points: [Moment]
  ) throws -> PriceChart {
    try #require(PriceChart(variant(points), currency: "USD", until: end))
  }

  @Test("Steps are at the dates and prices of the points")
  func steps() throws {
    let chart = try chart([(0, 100, nil, true), (25, 60, nil, true), (50, 80, nil, true)])
    let (top, bottom) = (PriceChart.top, PriceChart.bottom)
    #expect(
      chart.line == [
        .init(x1: 0, y1: top, x2: 25, y2: top), .init(x1: 25, y1: top, x2: 25, y2: bottom),
        .init(x1: 25, y1: bottom, x2: 50, y2: bottom),
        .init(x1: 50, y1: bottom, x2: 50, y2: (top + bottom) / 2),
        .init(x1: 50, y1: (top + bottom) / 2, x2: 100, y2: (top + bottom) / 2),
      ])
    #expect(chart.extremes?.low.price == 600_000 && chart.extremes?.high.price == 1_000_000)
  }

  @Test("Periods without stock are shaded, the last one to the end")
  func shading() throws {
    let chart = try chart([
      (0, 10, nil, true), (10, 10, nil, false), (20, 9, nil, false), (30, 9, nil, true), (80, 9, nil, false),
    ])
    #expect(chart.soldOut == [10...30, 80...100])
    #expect(chart.line.contains { !$0.isAvailable })
  }

  @Test("Nothing is drawn after now", arguments: [0.0, 60, 7_000])
  func end(_ age: Double) throws {
    let now = start.addingTimeInterval(age)
    let chart = try #require(PriceChart(variant([(0, 10, nil, false)]), currency: "USD", until: now))
    #expect(chart.end == now && chart.soldOut == [0...100] && chart.line.map(\.x2) == [100])
    let labels = chart.dateTicks(moments).map(\.text)
    #expect(labels.last == moments.time(now) && Set(labels).count == labels.count, "\(labels)")
  }

  @Test("A crossed-out price is drawn where it is above the price")
  func compareAt() throws {
    let chart = try chart([(0, 50, nil, true), (40, 30, 50, true), (60, 30, 30, true), (80, 30, 20, true)])
    #expect(chart.compareAt == [.init(x1: 40, y1: chart.y(500_000), x2: 60, y2: chart.y(500_000))])
  }

  @Test("A price that never changed is a line in the middle without marks")
  func constant() throws {
    let chart = try chart([(0, 12, nil, true)])
    #expect(chart.line == [.init(x1: 0, y1: 111, x2: 100, y2: 111)] && chart.extremes == nil)
    #expect(chart.priceTicks.map(\.text) == ["$12.00"])
    let now = try #require(PriceChart(variant([(100, 12, nil, true)]), currency: nil, until: end))
    #expect(now.line.allSatisfy { $0.x1.isFinite && $0.x2.isFinite } && now.dateTicks(moments).count >= 1)
  }

  @Test("Prices in an earlier currency are left out of the scale")
  func currencies() throws {
    var variant = variant([(10, 5_000, nil, true)], currency: "JPY")
    variant.history += self.variant([(20, 40, nil, true), (30, 30, nil, true)]).history
    let chart = try #require(PriceChart(variant, currency: "USD", until: end))
    #expect(chart.points.map(\.price) == [400_000, 300_000] && chart.currency == "USD")
    let figure = chart.figure(variant, id: "c", moments).markup
    #expect(figure.contains("¥5,000") && figure.components(separatedBy: "data-x=").count == 3)
  }

  @Test("Labels are round prices within the scale and dates from the first to the last day")
  func ticks() throws {
    let chart = try chart([(0, 97, nil, true), (10, 67.9, 97, true)])
    #expect(chart.priceTicks.map(\.text) == ["$70.00", "$80.00", "$90.00"])
    let dates = chart.dateTicks(moments)
    #expect(dates.first?.position == 0 && dates.last?.position == 100 && dates.last?.text == moments.shortDay(end))
    #expect(dates.map(\.position) == dates.map(\.position).sorted())
    let scales: [(Decimal, Decimal)] = [
      (0.0001, 0.0002), (1, 900_000_000_000), (1, 900_000_000_000_000), (0, 0.05), (9.99, 10),
    ]
    for (low, high) in scales {
      let chart = try self.chart([(0, low, nil, true), (10, high, nil, true)])
      #expect((1...8).contains(chart.priceTicks.count), "\(low) to \(high)")
      #expect(chart.priceTicks.allSatisfy { (PriceChart.top...PriceChart.bottom).contains($0.position) })
    }
  }

  @Test("A history of 50,000 points is drawn with few, which keep its extremes")
  func longHistory() throws {
    let points: [Moment] = (0..<50_000).map { index in
      let price = index == 31_234 ? 1 : index == 777 ? 999 : 50 + index % 7
      return (Double(index) / 500, Decimal(price), nil, true)
    }
    let chart = try chart(points)
    #expect(chart.points.count <= PriceChart.mostPoints)
    #expect(chart.extremes?.low.price == 10_000 && chart.extremes?.high.price == 9_990_000)
    #expect(chart.figure(variant(points), id: "c", moments).markup.utf8.count < 250_000)
  }

  @Test("A figure has a name, a sentence and a table, and no style of its own")
  func alternative() throws {
    let points: [Moment] = [
      (0, 97, nil, true), (20, 97, nil, false), (30, 67.9, 97, true),
    ]
    let chart = try chart(points)
    let markup = chart.figure(variant(points), id: "v1", moments).markup
    let document = try XMLDocument(xmlString: markup, options: [])
    let plot = try #require(try document.nodes(forXPath: "//svg").first as? XMLElement)
    let names = try #require(plot.attribute(forName: "aria-labelledby")?.stringValue).split(separator: " ")
    let ids = Set(try document.nodes(forXPath: "//@id").compactMap(\.stringValue))
    #expect(plot.attribute(forName: "role")?.stringValue == "img" && names.allSatisfy { ids.contains(String($0)) })
    #expect(markup.contains("lowest $67.90, highest $97.00") && markup.contains("sold out 11"))
    #expect(try document.nodes(forXPath: "//tbody/tr").count == 3)
    #expect(try document.nodes(forXPath: "//rect[@class='soldout']").count == 1)
    #expect(try document.nodes(forXPath: "//@style").isEmpty)
  }
}
