// Prints every public name in the given symbol graphs that nobody has described, and fails if there is one.
//
// The formatter's rule for this looks at syntax and flags witnesses of a protocol, which inherit the protocol's words.
// The symbol graph has the inherited words, so only what really shows up empty in the documentation is named here.
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
