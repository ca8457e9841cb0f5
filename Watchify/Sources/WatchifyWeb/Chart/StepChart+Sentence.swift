import CofferTerminal

extension StepChart {
  /// A description of the chart as text, for accessibility.
  ///
  /// For example, "From 206.00 on 3 Jan to 137.60 on 13 Jan; lowest 137.60, highest 206.00; sold out 5-7 Jan."
  ///
  /// For a chart without points: "There is no price yet."
  public var sentence: String { gluedSentence.loosened }

  /// Returns the sentence wrapped to lines of at most `width` columns. Lines are not broken within amounts and dates.
  public func sentence(width: Int) -> String { gluedSentence.wrapped(to: width).loosened }

  private func amount(_ value: Int64) -> String { label(value).glued }

  private var gluedSentence: String {
    guard let first = points.first, let last = points.last else { return "There is no price yet." }
    var parts: [String] = []
    if let extremes {
      // Later points may differ only in availability or compare-at price.
      let start = points.lastIndex { $0.value != last.value }.map { $0 + 1 } ?? 0
      let end = dates.text(points[start].date).glued
      parts.append("From \(amount(first.value)) on \(dates.text(first.date).glued) to \(amount(last.value)) on \(end)")
      parts.append("lowest \(amount(points[extremes.low].value)), highest \(amount(points[extremes.high].value))")
    } else {
      parts.append("\(amount(first.value)) since \(dates.text(first.date).glued)")
    }
    if let compareAt = last.compareAt { parts.append("compare-at price \(amount(compareAt))") }
    if !soldOut.isEmpty { parts.append("sold out " + soldOutText) }
    return parts.joined(separator: "; ") + "."
  }

  private var soldOutText: String {
    let texts = soldOut.suffix(3).map { span in
      span.end.map { dates.range(span.start, $0).glued } ?? "since \(dates.text(span.start).glued)"
    }
    guard soldOut.count <= 3, let last = texts.last else {
      return "\(grouped(soldOut.count)) times, last \(texts.last ?? "")"
    }
    return texts.count == 1 ? last : texts.dropLast().joined(separator: ", ") + " and " + last
  }
}
