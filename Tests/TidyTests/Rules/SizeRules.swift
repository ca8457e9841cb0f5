/// Finds files of more than 400 lines, the most that can be read in one sitting.
func fileLength(_ file: SourceFile) -> [Finding] {
  let count = file.lines.last == "" ? file.lines.count - 1 : file.lines.count
  return count <= 400 ? [] : [file.finding(400, "the file has \(count) lines, the limit is 400: split it")]
}

/// Finds lines of more than 120 columns, which do not fit into a side-by-side review.
func lineLength(_ file: SourceFile) -> [Finding] {
  file.lines.indices.filter { file.lines[$0].utf8.count > 120 && file.lines[$0].count > 120 }.map {
    file.finding($0, "the line has \(file.lines[$0].count) columns, the limit is 120")
  }
}

/// Finds functions of more than 70 lines, the most that fit on a screen.
func functionLength(_ file: SourceFile) -> [Finding] {
  functions(in: file.code).filter { $0.count > 70 }.map {
    file.finding($0.lowerBound, "the function has \($0.count) lines, the limit is 70: extract functions")
  }
}

/// Returns the lines of each function, initializer and subscript with a body, found by counting brackets.
func functions(in code: [String]) -> [ClosedRange<Int>] {
  let declaration = /^\s*(?:[@\w()]+\s+)*(?:func\s|(?:init|deinit|subscript)\b[?<({ ])/
  return code.indices.compactMap { first in
    guard code[first].hasAny(of: ["func", "init", "subscript"]), code[first].contains(declaration) else {
      return nil
    }
    return bodyEnd(of: code, from: first).map { first...$0 }
  }
}

/// Returns the line of the brace that closes the first body at or after `first`; `nil` for a requirement without one.
private func bodyEnd(of code: [String], from first: Int) -> Int? {
  var parentheses = 0
  var braces = 0
  for index in first..<code.endIndex {
    if braces == 0, parentheses == 0, index > first, !code[index].isContinuation { return nil }
    for character in code[index] {
      switch character {
      case "(", "[": parentheses += 1
      case ")", "]": parentheses -= 1
      case "{" where braces > 0 || parentheses == 0: braces += 1
      case "}" where braces == 0 && parentheses == 0: return nil
      case "}" where braces > 0:
        braces -= 1
        if braces == 0 { return index }
      default: break
      }
    }
  }
  return nil
}

extension String {
  /// Whether the line continues the head of a declaration.
  fileprivate var isContinuation: Bool {
    let head = drop { $0 == " " }
    return ["{", "->", "where ", "async", "throws", "rethrows", ")"].contains { head.hasPrefix($0) }
  }
}
