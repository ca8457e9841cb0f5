/// The candidate, in small letters, that somebody most likely meant; `nil` when none is close.
package func suggestion(for word: String, among candidates: [String]) -> String? {
  let word = word.lowercased()
  let best = candidates.map { (candidate: $0, distance: editDistance(word, $0)) }
    .min { $0.distance < $1.distance }
  if let best, best.distance <= (best.candidate.count <= 4 ? 1 : 2) { return best.candidate }
  // The beginning of exactly one name is as good as a misspelling.
  let longer = candidates.filter { $0.hasPrefix(word) }
  return word.count > 1 && longer.count == 1 ? longer.first : nil
}

/// How many letters were left out, added, mistaken or swapped with their neighbour.
package func editDistance(_ left: String, _ right: String) -> Int {
  let left = Array(left.unicodeScalars.prefix(40))
  let right = Array(right.unicodeScalars.prefix(40))
  var rows = [Array(0...right.count)]
  for i in 0..<left.count {
    var row = [i + 1]
    for j in 0..<right.count {
      var cost = min(row[j] + 1, rows[i][j + 1] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
      if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { cost = min(cost, rows[i - 1][j - 1] + 1) }
      row.append(cost)
    }
    rows.append(row)
  }
  return rows[left.count][right.count]
}
