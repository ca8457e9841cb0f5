import Foundation

/// A fenced block of code in a Markdown text.
struct Fence: Hashable {
  /// The line of the opening fence, counted from 1.
  let line: Int
  let language: String
  var code: [String] = []
}

/// Returns the fenced blocks of a Markdown text.
func fences(in markdown: String) -> [Fence] {
  var found: [Fence] = []
  var open: Fence?
  for (index, line) in markdown.components(separatedBy: "\n").enumerated() {
    let text = line.trimmingCharacters(in: .whitespaces)
    if text.hasPrefix("```") {
      if let fence = open {
        found.append(fence)
        open = nil
      } else {
        let language = text.drop { $0 == "`" }.prefix { $0.isLetter }
        open = Fence(line: index + 1, language: String(language))
      }
    } else {
      open?.code.append(text)
    }
  }
  if let open { found.append(open) }
  return found
}

/// Returns the paragraphs of `code` that do not occur, line by line, in the compiled examples.
///
/// Blank lines separate paragraphs, so that a type and the statements that use it may be apart in the examples. Imports
/// and indentation are ignored, as are expectations between the lines of an example.
func missingParagraphs(of code: [String], in examples: String) -> [[String]] {
  let compiled = examples.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    .filter { !$0.isEmpty && !$0.hasPrefix("#expect") && !$0.hasPrefix("try #require") }
  let paragraphs = code.filter { !$0.isImport }.split(separator: "").map(Array.init)
  return paragraphs.filter { paragraph in
    !compiled.indices.contains { compiled[$0...].starts(with: paragraph) }
  }
}

extension String {
  fileprivate var isImport: Bool { contains(/^(?:\w+ )?import \w/) }
}
