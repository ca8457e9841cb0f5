import Foundation
import Testing

private let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
private let readme = here.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("README.md")

@Suite("Examples in the documentation")
struct ReadmeTests {
  @Test(
    "Every Swift example of the README, the tour and some articles is compiled and run",
    .enabled(if: FileManager.default.fileExists(atPath: readme.path)),
    arguments: [
      ("README.md", "ReadmeExamples.swift"), ("Sources/Coffer/Coffer.docc/Tour.md", "ReadmeExamples.swift"),
      ("Sources/Coffer/Coffer.docc/Events.md", "EventExamples.swift"),
      ("Sources/CofferRouter/CofferRouter.docc/Encryption.md", "EncryptionExamples.swift"),
      ("Sources/Coffer/Coffer.docc/Migrating.md", "MigratingExamples.swift"),
      ("Sources/Coffer/Coffer.docc/MovingToCoffer.md", "MigratingExamples.swift"),
    ])
  func examplesAreCompiled(_ path: String, _ compiled: String) throws {
    let text = try String(contentsOf: readme.deletingLastPathComponent().appendingPathComponent(path), encoding: .utf8)
    let examples = try String(contentsOf: here.appendingPathComponent(compiled), encoding: .utf8)
    for fence in fences(in: text) where fence.language == "swift" {
      for paragraph in missingParagraphs(of: fence.code, in: examples) {
        let lines = paragraph.joined(separator: "\n")
        Issue.record("\(path):\(fence.line): not in \(compiled), so never compiled:\n\(lines)")
      }
    }
  }

  @Test("The program in the documentation of CofferTerminal is the example that is built")
  func commandLineIsBuilt() throws {
    let root = readme.deletingLastPathComponent()
    let page = root.appendingPathComponent("Sources/CofferTerminal/CofferTerminal.docc/CofferTerminal.md")
    let program = root.appendingPathComponent("Examples/CommandLine/Sources/words/Words.swift")
    let shown = try fences(in: String(contentsOf: page, encoding: .utf8)).filter { $0.language == "swift" }
    #expect(shown.count == 1)
    let built = try String(contentsOf: program, encoding: .utf8).components(separatedBy: "\n")
      .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
    for fence in shown { #expect(built.contains(fence.code.joined(separator: "\n"))) }
  }

  @Test func fencesAreFoundWithTheirLanguage() {
    let found = fences(in: "# A\n```swift\nlet a = 1\n  let b = 2\n```\ntext\n  ```sh\nls\n  ```\n```\n")
    #expect(
      found == [
        Fence(line: 2, language: "swift", code: ["let a = 1", "let b = 2"]),
        Fence(line: 7, language: "sh", code: ["ls"]),
        Fence(line: 10, language: "", code: [""]),
      ])
  }

  @Test(arguments: [
    ["import Coffer", "", "let a = f(1)", "g(a)"], ["g(a)", "", "struct A {", "}"], [], [""], ["public import Coffer"],
  ])
  func compiledExamplesPass(_ code: [String]) {
    #expect(missingParagraphs(of: code, in: examples) == [])
  }

  @Test(arguments: [["let a = f(2)"], ["g(a)", "let a = f(1)"], ["let a = f(1)", "h(a)"], ["struct A {", "g(a)"]])
  func otherExamplesDoNot(_ code: [String]) {
    #expect(missingParagraphs(of: code, in: examples) == [code])
  }

  private let examples = """
    import Testing
    struct A {
    }
    @Test func shown() {
        let a = f(1)
        #expect(a == 1)

        g(a)
    }
    """
}
