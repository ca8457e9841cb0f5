// Prints every undocumented public name in the given symbol graphs, and fails if there is one.
//
// The formatter's rule for this is syntactic and flags protocol witnesses, which inherit the protocol's documentation.
// The symbol graph contains inherited documentation, so only names that are really undocumented are printed.
import Foundation

struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Location: Decodable {
      struct Position: Decodable { var line: Int }
      var uri: String
      var position: Position
    }
    struct Comment: Decodable {}
    var pathComponents: [String]
    var docComment: Comment?
    var location: Location?
  }
  var symbols: [Symbol]
}

var isComplete = true
for path in CommandLine.arguments.dropFirst() {
  let graph = try JSONDecoder().decode(SymbolGraph.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  for symbol in graph.symbols where symbol.docComment == nil {
    guard let location = symbol.location, let file = URL(string: location.uri) else { continue }
    let name = symbol.pathComponents.joined(separator: ".")
    print("\(file.path):\(location.position.line + 1): error: '\(name)' is public and has no documentation comment")
    isComplete = false
  }
}
exit(isComplete ? 0 : 1)
