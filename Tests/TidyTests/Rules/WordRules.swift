/// Words that were replaced, each with the terms that are used instead. They are matched as parts of identifiers too.
private let replaced = [
  (word: "back" + "end", instead: "engine, store or location"), (word: "ho" + "me", instead: "store or location"),
  (word: "pla" + "ce", instead: "store, location, file or position"),
]

/// Finds words that were replaced by one term for each idea: a *store* holds values, an *engine* is the code that
/// runs it, a *location* is its text form.
func replacedTerms(_ file: SourceFile) -> [Finding] {
  file.lines.indices.flatMap { index -> [Finding] in
    let line = file.lines[index]
    return replaced.compactMap { term in
      // Removing the phrases with another meaning is slow, so only lines that have the word get there.
      guard line.hasTerm(term.word), withoutOtherMeanings(line, code: file.code[index]).hasTerm(term.word) else {
        return nil
      }
      return file.finding(index, "'\(term.word)': write \(term.instead), or name what it is")
    }
  }
}

/// Finds sentences whose subject is a headless relative clause: "Who is slow may skip states".
func headlessSubjects(_ file: SourceFile) -> [Finding] {
  file.lines.indices.compactMap { index in
    let line = file.lines[index]
    guard line.hasAny(of: ["Wh" + "o ", "Wh" + "oever "]),
      line.contains(/(?:^|\/\/\/?\s+|[.:!?]\s+|["(>*-]\s*)Who(?:ever)?\ (?![^.!]*\?)/)
    else { return nil }
    return file.finding(index, "a sentence without a subject: name it, such as a caller or a reader")
  }
}

/// Removes the phrases and names in which a replaced word means something else.
private func withoutOtherMeanings(_ line: String, code: String) -> String {
  var line =
    line
    .replacing(/(?:in|into|out of)[ -](?:(?:its|their|the) )?places?|(?:takes?|took|taking) (?:the )?place/, with: "")
    .replacing(/[iI]nPlace|decimal places?|placeholder/, with: "")
    .replacing(/home director(?:y|ies)|home market|(?:walk|from|cd) home|home page|home {8}/, with: "")
    .replacing(/[\/~.]home|home\/|"home"|XDG\w+|Backend error|pg_\w*backend\w*|PQbackendPID/, with: "")
  for name in [
    "HomeMarket", "registeredHome", "noHome", "NoHome", "setHome", "doctorsHome", "ProtectHome",
    "backendError",
  ] {
    line = line.replacing(name, with: "")
  }
  // In code a `home` is a directory: stores have other names there.
  return code.hasTerm("home") ? line.replacing("home", with: "") : line
}

extension String {
  /// Whether a lower-case word occurs by itself or as a word of an identifier, in the singular or plural.
  fileprivate func hasTerm(_ word: String) -> Bool {
    let capitalized = word.prefix(1).uppercased() + word.dropFirst()
    guard hasAny(of: [word, capitalized]) else { return false }
    return [word, capitalized].contains { spelling in
      ranges(of: spelling).contains { range in
        let before = range.lowerBound > startIndex ? self[index(before: range.lowerBound)] : " "
        var rest = self[range.upperBound...]
        if rest.first == "s" { rest = rest.dropFirst() }
        let beginsWord = spelling == word ? !before.isLetter : !before.isUppercase
        return beginsWord && rest.first?.isLowercase != true
      }
    }
  }
}
