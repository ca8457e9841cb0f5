import CofferTerminal

/// A minimal program, in whose output nothing of `coffer` may appear.
enum Market: String, ProgramCommand {
  case visit, load, completions, help, version

  enum Option: String, ProgramOption {
    case stall, colour, json, help, version

    var letter: Character? { self == .help ? "h" : nil }

    var value: OptionValue? {
      switch self {
      case .stall: OptionValue(name: "STALL", completion: .listed)
      case .colour: OptionValue(name: "WHEN", completion: .words(["always", "never"]))
      case .json, .help, .version: nil
      }
    }

    var summary: String {
      switch self {
      case .stall: "the stall to go to"
      case .colour: "whether it's in colour"
      case .json: "print JSON"
      case .help: "show help"
      case .version: "show the version"
      }
    }
  }

  static let program = Program<Market>(
    name: "market", version: "2.3.4", purpose: "Look at stalls.", introduction: [.visit],
    sections: [
      HelpSection(heading: "Stalls", text: "Each sells\nsomething:", rows: [("pears", "soft"), ("nuts", "hard")])
    ],
    lister: Lister(item: "stall", command: "stalls -0"))

  var syntax: Syntax<Option> {
    switch self {
    case .visit:
      Syntax(
        summary: "go to stalls",
        operands: [.init(name: "STALL", completion: .listed, summary: "which", isRequired: true, repeats: true)],
        options: [.stall, .colour, .json], details: ["It takes a while."],
        examples: [.init("market visit pears", "go there")], aliases: ["go"])
    case .load:
      Syntax(
        summary: "load a file", operands: [.init(name: "FILE", completion: .files, summary: "the file")],
        examples: [.init("market load a.json", "take all of it")])
    case .completions:
      Syntax(
        summary: "print completions for bash", examples: [.init("source <(market completions)", "in ~/.bashrc")])
    case .help:
      Syntax(
        summary: "show help", operands: [.init(name: "COMMAND", completion: .commands, summary: "which")],
        examples: [.init("market help visit", "of one command")])
    case .version:
      Syntax(summary: "show the version", options: [.json], examples: [.init("market version", "the number")])
    }
  }
}

/// A program with a default command.
enum Kiosk: String, ProgramCommand {
  case show, completions, help, version

  static let program = Program<Kiosk>(
    name: "kiosk", version: "1.0.0", purpose: "Show what is there.", defaultCommand: .show, introduction: [.show])

  var syntax: Syntax<Market.Option> { Syntax(summary: rawValue, options: [.json], examples: []) }
}
