extension StepChart {
  /// What the chart shows, for those who cannot see it: "From 206.00 on 3 Jan to 137.60 on 13 Jan; lowest 137.60,
  /// highest 206.00; sold out 5-7 Jan."
  package var sentence: String {
    guard let first = points.first, let last = points.last else { return "There is no price yet." }
    var parts: [String] = []
    if let extremes {
      // The last change of the value, which a change of something else may have followed.
      let start = points.lastIndex { $0.value != last.value }.map { $0 + 1 } ?? 0
      let end = dates.text(points[start].date)
      parts.append("From \(label(first.value)) on \(dates.text(first.date)) to \(label(last.value)) on \(end)")
      parts.append("lowest \(label(points[extremes.low].value)), highest \(label(points[extremes.high].value))")
    } else {
      parts.append("\(label(first.value)) since \(dates.text(first.date))")
    }
    if let compareAt = last.compareAt { parts.append("compare-at price \(label(compareAt))") }
    if !soldOut.isEmpty { parts.append("sold out " + soldOutText) }
    return parts.joined(separator: "; ") + "."
  }

  private var soldOutText: String {
    let texts = soldOut.suffix(3).map { span in
      span.end.map { dates.range(span.start, $0) } ?? "since \(dates.text(span.start))"
    }
    guard soldOut.count <= 3, let last = texts.last else {
      return "\(grouped(soldOut.count)) times, last \(texts.last ?? "")"
    }
    return texts.count == 1 ? last : texts.dropLast().joined(separator: ", ") + " and " + last
  }
}
