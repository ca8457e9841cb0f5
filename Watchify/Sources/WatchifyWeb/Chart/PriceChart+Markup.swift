import Foundation
import WatchifyKit

/// The chart as SVG, with a text alternative and a table.
extension PriceChart {
  /// The largest number of rows of a table.
  static let mostRows = 200

  /// Returns the chart as a figure.
  /// - Parameter id: distinguishes the charts of a page.
  func figure(_ variant: VariantDTO, id: String, _ moments: Moments) -> HTML {
    tag(.figure, .class("chart")) {
      tag(
        .svg, .class("plot"), .set(.role, "img"), .set(.ariaLabelledBy, "\(id)-title \(id)-text"), .set(.width, "100%"),
        .number(.height, Self.height), .set(.tabindex, "0")
      ) {
        tag(.title, .id("\(id)-title")) { "Price over time" }
        defs(id)
        tag(.g, .class("scale")) {
          for tick in priceTicks where !isCovered(tick.position - 5) {
            tag(.line, .set(.x1, "0"), .set(.x2, "100%"), .number(.y1, tick.position), .number(.y2, tick.position))
          }
        }
        for span in soldOut {
          for fill in ["soldout", "hatch"] {
            tag(
              .rect, .class(fill), .number(.x, span.lowerBound, "%"), .number(.y, 14),
              .number(.width, span.upperBound - span.lowerBound, "%"), .number(.height, Self.bottom - 6),
              .set(.fill, fill == "hatch" ? "url(#\(id)-hatch)" : nil))
          }
        }
        tag(.g, .class("compare")) { for part in compareAt { segment(part) } }
        tag(.g, .class("line")) { for part in line { segment(part) } }
        labels(moments)
        marks
        tag(.g, .class("cursor"), .set(.ariaHidden, "true"))
      }
      tag(.p, .class("readout"), .set(.ariaLive, "polite"))
      tag(.figcaption) {
        tag(.p, .id("\(id)-text")) { sentence(moments) }
        lowest(variant, moments)
        legend
      }
      table(variant, moments)
    }
  }

  private func segment(_ part: Segment) -> HTML {
    tag(
      .line, .number(.x1, part.x1, "%"), .number(.y1, part.y1), .number(.x2, part.x2, "%"), .number(.y2, part.y2),
      .class(part.isAvailable ? nil : "gone"))
  }

  private func defs(_ id: String) -> HTML {
    tag(.defs) {
      tag(
        .pattern, .id("\(id)-hatch"), .number(.width, 6), .number(.height, 6), .set(.patternUnits, "userSpaceOnUse")
      ) {
        tag(.path, .class("hatchline"), .set(.d, "M0 6 6 0"))
      }
    }
  }

  /// Returns the texts of both axes, which are above the lines.
  private func labels(_ moments: Moments) -> HTML {
    tag(.g, .set(.ariaHidden, "true")) {
      for tick in priceTicks where !isCovered(tick.position - 5) {
        tag(.text, .set(.x, "0"), .number(.y, tick.position - 5)) { tick.text }
      }
      for tick in dateTicks(moments) {
        tag(
          .text, .number(.x, tick.position, "%"), .number(.y, Self.height - 8),
          .set(.textAnchor, tick.position == 0 ? "start" : tick.position == 100 ? "end" : "middle"),
          .class(tick.isEssential ? "date" : "date wide")
        ) { tick.text }
      }
    }
  }

  /// Whether the text of a mark takes the place of a label of the price axis, which is at the left edge.
  private func isCovered(_ baseline: Double) -> Bool {
    guard let extremes else { return false }
    return [(extremes.high, -11.0), (extremes.low, 20.0)].contains { point, offset in
      middle(of: point) < 30 && abs(y(point.price) + offset - baseline) < 14
    }
  }

  private var marks: HTML {
    guard let extremes else { return HTML() }
    return tag(.g, .class("marks"), .set(.ariaHidden, "true")) {
      mark(extremes.high, "highest", isAbove: true)
      mark(extremes.low, "lowest", isAbove: false)
    }
  }

  private func mark(_ point: Point, _ word: String, isAbove: Bool) -> HTML {
    let (x, y) = (middle(of: point), y(point.price))
    return pieces {
      tag(.circle, .class(word), .number(.cx, x, "%"), .number(.cy, y), .set(.r, "4"))
      tag(
        .text, .class(word), .number(.x, min(max(x, 0), 100), "%"), .number(.y, isAbove ? y - 11 : y + 20),
        .set(.textAnchor, x < 15 ? "start" : x > 85 ? "end" : "middle")
      ) { "\(word) \(text(point.price))" }
    }
  }

  /// Returns the lowest prices of the last 30 and 90 days and since the first read; nothing if the price never changed.
  private func lowest(_ variant: VariantDTO, _ moments: Moments) -> HTML {
    guard extremes != nil, !variant.lowest.isEmpty else { return HTML() }
    return tag(.p, .class("lows")) {
      "Lowest price "
      for (index, low) in variant.lowest.enumerated() {
        if index > 0 { ", " }
        low.days.map { "in \($0) days " } ?? "since \(moments.shortDay(low.start)) "
        NewsText.amount(low.price, currency)
        if low.days == nil { " (\(moments.shortDay(low.since)))" }
      }
      "."
    }
  }

  private var legend: HTML {
    guard !soldOut.isEmpty || !compareAt.isEmpty else { return HTML() }
    return tag(.p, .class("legend")) {
      if !soldOut.isEmpty {
        tag(.span, .class("key soldout"), .set(.ariaHidden, "true"))
        tag(.span) { "sold out" }
        " "
      }
      if !compareAt.isEmpty {
        tag(.span, .class("key compare"), .set(.ariaHidden, "true"))
        tag(.span) { "crossed-out price" }
      }
    }
  }

  /// Returns all values as a table, newest first. Rows that the chart shows have its coordinates for the cursor.
  private func table(_ variant: VariantDTO, _ moments: Moments) -> HTML {
    let history = variant.history.reversed()
    return tag(.details, .class("points")) {
      tag(.summary) { "As a table" }
      tag(.table) {
        tag(.thead) {
          tag(.tr) {
            for name in ["Since", "Price", "Crossed out", "Stock"] { tag(.th, .set(.scope, "col")) { name } }
          }
        }
        tag(.tbody) { for point in history.prefix(Self.mostRows) { row(point, moments) } }
      }
      if history.count > Self.mostRows {
        tag(.p, .class("note")) { "The newest \(Self.mostRows) rows. 'watchify export' prints all of them." }
      }
    }
  }

  private func row(_ point: SnapshotDTO, _ moments: Moments) -> HTML {
    let price = Price("\(point.price)")?.tenThousandths ?? 0
    let isShown = point.currency == currency || point.currency == nil
    let amount = Money.text(point.price, point.currency ?? currency)
    let compareAt = point.compareAtPrice.flatMap { $0 > point.price ? Money.text($0, point.currency ?? currency) : nil }
    let stock = point.available ? "in stock" : "sold out"
    let day = moments.text(point.capturedAt)
    let words = [day, amount, compareAt.map { "was \($0)" }, stock].compactMap { $0 }.joined(separator: " · ")
    return tag(
      .tr, .set(.dataX, isShown ? Attribute.text(x(point.capturedAt)) : nil),
      .set(.dataY, isShown ? Attribute.text(y(price)) : nil), .set(.dataText, isShown ? words : nil)
    ) {
      tag(.td) { moments.element(point.capturedAt) }
      tag(.td, .class("amount")) { amount }
      tag(.td, .class("amount")) { compareAt ?? "–" }
      tag(.td) { stock }
    }
  }
}
