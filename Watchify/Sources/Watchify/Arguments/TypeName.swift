import CofferTerminal
import WatchifyKit

/// The values of `--type`: kinds of changes, and groups of them.
enum TypeName {
  static let groups = ActivityGroup.Category.allCases.map { $0.rawValue.lowercased() }
  static let all = groups + ChangeType.allCases.map(\.rawValue)

  /// All kinds as text for help, wrapped to 76 columns.
  static let lines = ChangeType.allCases.map(\.rawValue).joined(separator: ", ").wrapped(to: 76)

  /// Returns the kinds that the values of `--type` name; `nil` if there are no values.
  /// - Throws: `CommandError` for an unknown name.
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
      throw Command.mistake(
        "There is no kind of news '\(word.oneLine(limit: 40))'.\(hint ?? " They are \(all.joined(separator: ", ")).")",
        command)
    }
  }
}
