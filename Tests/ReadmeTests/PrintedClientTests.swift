import Foundation
import Testing

/// Compares `Examples/ClientMacro`, which `./run test` builds and runs, with what is printed.
@Suite("Clients with the macro @Client") struct PrintedClientTests {
  private static let package = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let specification = package.appendingPathComponent(
    "../shared/source-documents/1-persistence-capability.md"
  ).standardizedFileURL
  private static let isPresent = FileManager.default.isReadableFile(atPath: specification.path)

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.package.appendingPathComponent(path), encoding: .utf8)
  }

  // Requirement 1.20
  @Test(.enabled(if: isPresent, "the specification is not beside the package: \(specification.path)"))
  func theClientIsCompiledVerbatim() throws {
    let compiled = try text("Examples/ClientMacro/Sources/ClientMacro/UserPreferencesClient.swift")
    let printed = fences(in: try String(contentsOf: Self.specification, encoding: .utf8))
      .filter { $0.code.first == "@Client" }
    #expect(printed.map(\.code.count) == [23])
    // All lines, the empty ones and the comment too.
    let lines = compiled.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    for fence in printed { #expect(lines.indices.contains { lines[$0...].starts(with: fence.code) }) }
  }

  @Test func theArticleShowsWhatIsCompiled() throws {
    let compiled = try text("Examples/ClientMacro/Sources/ClientMacro/Layouts.swift")
    let article = try text("Sources/CofferPersistence/CofferPersistence.docc/ClientsOfAnApp.md")
    let shown = fences(in: article).filter { $0.code.first == "@Client" }
    #expect(shown.count == 1)
    for fence in shown { #expect(missingParagraphs(of: fence.code, in: compiled) == []) }
  }
}
