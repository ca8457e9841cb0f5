/// What is left to do belongs into an issue, where somebody looks for it.
func unfinished(_ file: SourceFile) -> [Finding] {
  // in pieces, because this file is checked too
  let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
  return file.lines.indices.compactMap { index in
    guard file.lines[index].hasAny(of: words), let word = words.first(where: { file.lines[index].hasWord($0) }) else {
      return nil
    }
    return file.finding(index, "'\(word)': finish it, or write an issue")
  }
}

/// A path that exists on one machine only.
func machinePaths(_ file: SourceFile) -> [Finding] {
  let places = ["home", "root", "opt", "work", "Users"].map { "/\($0)/" }
  return file.lines.indices.compactMap { index in
    guard file.lines[index].hasAny(of: places),
      let match = file.lines[index].firstMatch(of: /(?:^|[^\w.~$})-])(\/(?:home|root|opt|work|Users)\/)/)
    else { return nil }
    return file.finding(index, "'\(match.output.1)' is a place on somebody's machine")
  }
}

/// Blanks at the end of a line are noise in every later change.
func trailingWhitespace(_ file: SourceFile) -> [Finding] {
  file.lines.indices.filter { [0x20, 0x09, 0x0D].contains(file.lines[$0].utf8.last) }.map {
    file.finding($0, "blanks at the end of the line")
  }
}

extension String {
  /// Whether `word` occurs with no letter or digit beside it.
  fileprivate func hasWord(_ word: String) -> Bool {
    ranges(of: word).contains { range in
      let before = range.lowerBound > startIndex ? self[index(before: range.lowerBound)] : " "
      let after = range.upperBound < endIndex ? self[range.upperBound] : " "
      return ![before, after].contains { $0.isLetter || $0.isNumber || $0 == "_" }
    }
  }
}
