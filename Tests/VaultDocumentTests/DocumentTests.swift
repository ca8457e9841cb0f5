import Foundation
import Testing

/// Compares the examples of this target with the vault specification, if the document is available.
@Suite struct DocumentTests {
  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  static let document = package.appendingPathComponent("../shared/source-documents/0-swiftvault-service.md")
    .standardizedFileURL
  static let isPresent = FileManager.default.isReadableFile(atPath: document.path)

  // Requirement 0.1
  @Test(.enabled(if: isPresent, "the specification is not beside the package: \(document.path)"))
  func everyExampleIsCompiledVerbatim() throws {
    let fences = Self.fences(try String(contentsOf: Self.document, encoding: .utf8))
    let examples = try Self.lines(of: "Tests/VaultDocumentTests/DocumentExamples.swift")
    let contract = try Self.lines(of: "Sources/CofferVault/SwiftVaultService.swift")
    var (compiled, signatures) = (0, 0)
    for fence in fences {
      if fence.count == 1 && !fence[0].hasPrefix("try") || fence[0].hasPrefix("public protocol") {
        signatures += 1
        for line in fence { #expect(contract.contains(line), "the protocol lacks: \(line)") }
      } else {
        compiled += 1
        #expect(examples.contains(run: fence), "no such example:\n\(fence.joined(separator: "\n"))")
      }
    }
    #expect((compiled, signatures) == (9, 7))
  }

  /// Returns the Swift examples of a Markdown text, as lines without indentation and without blank lines.
  static func fences(_ text: String) -> [[String]] {
    var fences: [[String]] = []
    var isInside = false
    for line in trimmedLines(text) {
      if line.hasPrefix("```") {
        isInside = line == "```swift"
        if isInside { fences.append([]) }
      } else if isInside {
        fences[fences.count - 1].append(line)
      }
    }
    return fences
  }

  static func lines(of path: String) throws -> [String] {
    trimmedLines(try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8))
  }

  private static func trimmedLines(_ text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}

extension Array where Element == String {
  /// Returns whether the lines occur consecutively.
  func contains(run: [String]) -> Bool {
    guard !run.isEmpty, run.count <= count else { return false }
    return (0...(count - run.count)).contains { self[$0..<($0 + run.count)].elementsEqual(run) }
  }
}
