import SwiftBasicFormat
import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

@testable import CofferMacrosPlugin

/// What the macro makes of a source text.
struct Expansion {
  /// The text after the expansion, with two columns for each level.
  let text: String
  /// The line of each error, counted from 1, and its text.
  let findings: [Finding]

  struct Finding: Hashable {
    let line: Int
    let text: String
  }

  /// - Parameter conformances: the protocols that the type does not conform to before.
  init(_ source: String, conformances: [String] = ["Client", "Persistable"]) {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(
      sourceFiles: [file: .init(moduleName: "Sample", fullFilePath: "Sample.swift")])
    let macros = [
      "Client": MacroSpec(type: ClientMacro.self, conformances: conformances.map { "\(raw: $0)" as TypeSyntax })
    ]
    let expanded = file.expand(
      macroSpecs: macros,
      contextGenerator: { BasicMacroExpansionContext(sharingWith: context, lexicalContext: [$0]) },
      indentationWidth: .spaces(2))
    text = expanded.description
    findings = context.diagnostics.map { diagnostic in
      let location = context.location(for: diagnostic.position, anchoredAt: diagnostic.node, fileName: "Sample.swift")
      return Finding(line: location.line, text: diagnostic.message)
    }
  }

  /// Whether the text after the expansion contains these lines, whatever their indentation.
  func contains(_ lines: String) -> Bool {
    func plain(_ text: String) -> String {
      text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
    }
    return plain(text).contains(plain(lines))
  }
}
