/// The shells that can complete.
enum Shell: String, CaseIterable, Sendable {
  case bash, zsh, fish

  /// What the shell has to read, without the last line end.
  var script: String {
    switch self {
    case .bash: BashCompletion().script
    case .zsh: ZshCompletion().script
    case .fish: FishCompletion().script
    }
  }
}

extension Option {
  /// The option's names as a shell sees them: `-l`, `--long`.
  var words: [String] { (letter.map { ["-\($0)"] } ?? []) + [name] }

  /// All options of a kind of value, for a `case` of bash: `--file|--store`.
  static func pattern(_ kinds: [ValueKind]) -> String {
    allCases.filter { option in option.value.map { kinds.contains($0.kind) } ?? false }.map(\.name)
      .joined(separator: "|")
  }
}
