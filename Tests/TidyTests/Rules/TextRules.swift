/// Finds markers of unfinished work, which belongs in an issue.
func unfinished(_ file: SourceFile) -> [Finding] {
  // Split, since the rule also checks this file.
  let words = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
  return file.lines.indices.compactMap { index in
    guard file.lines[index].hasAny(of: words), let word = words.first(where: { file.lines[index].hasWord($0) }) else {
      return nil
    }
    return file.finding(index, "'\(word)': finish it, or open an issue")
  }
}

/// Finds paths that exist on one machine only.
func machinePaths(_ file: SourceFile) -> [Finding] {
  let prefixes = ["home", "root", "opt", "work", "Users"].map { "/\($0)/" }
  return file.lines.indices.compactMap { index in
    guard file.lines[index].hasAny(of: prefixes),
      let match = file.lines[index].firstMatch(of: /(?:^|[^\w.~$})-])(\/(?:home|root|opt|work|Users)\/)/)
    else { return nil }
    return file.finding(index, "'\(match.output.1)' is a machine-specific path")
  }
}

/// Finds trailing whitespace, which is noise in later changes.
func trailingWhitespace(_ file: SourceFile) -> [Finding] {
  file.lines.indices.filter { [0x20, 0x09, 0x0D].contains(file.lines[$0].utf8.last) }.map {
    file.finding($0, "trailing whitespace")
  }
}

extension String {
  /// Whether `word` occurs without an adjacent letter, digit or underscore.
  fileprivate func hasWord(_ word: String) -> Bool {
    ranges(of: word).contains { range in
      let before = range.lowerBound > startIndex ? self[index(before: range.lowerBound)] : " "
      let after = range.upperBound < endIndex ? self[range.upperBound] : " "
      return ![before, after].contains { $0.isLetter || $0.isNumber || $0 == "_" }
    }
  }
}
