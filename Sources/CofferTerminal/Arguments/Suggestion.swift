/// Returns the candidate closest to a misspelled word, or `nil` if none is close.
///
/// A candidate is close if its edit distance is at most two, or one for a candidate of up to four letters; swapped
/// neighbours count as one edit. Otherwise, a word of at least two letters matches if it is the prefix of exactly one
/// candidate.
///
/// ```swift
/// suggestion(for: "Lsit", among: ["list", "add"])  // "list"
/// ```
///
/// - Parameters:
///   - word: the word as it was typed. It is compared without regard to case.
///   - candidates: the valid words, in lower case.
public func suggestion(for word: String, among candidates: [String]) -> String? {
  let word = word.lowercased()
  let best = candidates.map { (candidate: $0, distance: editDistance(word, $0)) }
    .min { $0.distance < $1.distance }
  if let best, best.distance <= (best.candidate.count <= 4 ? 1 : 2) { return best.candidate }
  // A prefix of exactly one name is treated like a misspelling of it.
  let longer = candidates.filter { $0.hasPrefix(word) }
  return word.count > 1 && longer.count == 1 ? longer.first : nil
}

/// Returns the edit distance of two words: insertions, deletions, substitutions and swaps of neighbours. Only the first
/// 40 Unicode scalars of each word are compared.
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
