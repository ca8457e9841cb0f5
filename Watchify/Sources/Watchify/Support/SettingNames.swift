import CofferTerminal
import WatchifyKit

extension WatchifySetting {
  /// Returns the setting that a word on the command line names.
  static func setting(_ word: String) throws -> WatchifySetting {
    if let setting = named(word) { return setting }
    let shown = word.oneLine(limit: 40)
    let close = suggestion(for: word, among: all.map { $0.name.lowercased() }).flatMap { named($0)?.name }
    let hint = close.map { "Did you mean '\($0)'?" } ?? "They are \(all.map(\.name).joined(separator: ", "))."
    throw Command.mistake("There is no setting '\(shown)'. \(hint)", .settings)
  }
}

extension WatchifySetting.Value {
  /// The value as JSON.
  var json: JSON {
    switch self {
    case .flag(let value): .flag(value)
    case .number(let value): .number(value)
    case .text(let value): .text(value)
    case .list(let values): .list(values.map(JSON.text))
    }
  }
}
