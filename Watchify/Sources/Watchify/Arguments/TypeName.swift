import CofferTerminal
import WatchifyKit

/// What `--type` takes: kinds of news, and groups of them.
enum TypeName {
  static let groups = ActivityGroup.Category.allCases.map { $0.rawValue.lowercased() }
  static let all = groups + ChangeType.allCases.map(\.rawValue)

  /// For help, in lines that fit a terminal.
  static let lines = ChangeType.allCases.map(\.rawValue).joined(separator: ", ").wrapped(to: 76)

  /// The kinds that some words name; `nil` for no words.
  static func types(_ words: [String], _ command: Command) throws -> [ChangeType]? {
    let words = words.flatMap { $0.split(separator: ",").map(String.init) }
    guard !words.isEmpty else { return nil }
    return try words.flatMap { word in
      if let group = ActivityGroup.Category.allCases.first(where: { $0.rawValue.lowercased() == word.lowercased() }) {
        return ChangeType.allCases.filter { $0.category == group }
      }
      if let type = ChangeType.allCases.first(where: { $0.rawValue.lowercased() == word.lowercased() }) {
        return [type]
      }
      let hint = suggestion(for: word, among: all).map { " Did you mean '\($0)'?" }
      throw UsageError(
        "There is no kind of news '\(word.oneLine(limit: 40))'.\(hint ?? " They are \(all.joined(separator: ", ")).")",
        command)
    }
  }
}
