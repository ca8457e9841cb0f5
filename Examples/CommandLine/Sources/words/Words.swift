// The example program of the documentation of CofferTerminal. Without arguments it shows its help.

import CofferTerminal
import Foundation

enum Option: String, ProgramOption {
  case limit, json, help, version

  var letter: Character? { self == .help ? "h" : nil }

  var value: OptionValue? { self == .limit ? OptionValue(name: "N", completion: .nothing) : nil }

  var summary: String {
    switch self {
    case .limit: "show N words at most"
    case .json: "print JSON, errors too"
    case .help: "show help"
    case .version: "show the version"
    }
  }
}

enum Command: String, ProgramCommand {
  case count, longest, completions, help, version

  static let program = Program<Command>(
    name: "words", version: "1.0.0", purpose: "Look at the words of files.", defaultCommand: .help,
    introduction: [.count, .longest])

  var syntax: Syntax<Option> {
    switch self {
    case .count:
      Syntax(
        summary: "count words",
        operands: [
          .init(name: "FILE", completion: .files, summary: "the files to read", isRequired: true, repeats: true)
        ],
        options: [.json], examples: [.init("words count a.txt b.txt", "one line for each file")])
    case .longest:
      Syntax(
        summary: "show the longest words",
        operands: [.init(name: "FILE", completion: .files, summary: "the file to read", isRequired: true)],
        options: [.limit, .json], examples: [.init("words longest a.txt --limit 3", "the first three")])
    case .completions:
      Syntax(
        summary: "print completions for bash", examples: [.init("source <(words completions)", "in ~/.bashrc")])
    case .help:
      Syntax(
        summary: "show help",
        operands: [.init(name: "COMMAND", completion: .commands, summary: "the command to explain")],
        examples: [.init("words help count", "the same as words count --help")])
    case .version:
      Syntax(summary: "show the version", options: [.json], examples: [.init("words version", "name and number")])
    }
  }
}

@main
enum Words {
  static func main() async { await Command.main(run) }

  private static func run(_ invocation: Invocation<Command>) async throws -> ExitStatus {
    switch invocation.command {
    case .count: try await count(invocation)
    case .longest: try longest(invocation)
    case .completions: try invocation.printCompletions()
    case .help: try invocation.explain()
    case .version: try invocation.printVersion()
    }
  }

  private static func count(_ invocation: Invocation<Command>) async throws -> ExitStatus {
    let paths = try invocation.texts()
    return try await interruptible {
      let progress = ProgressLine("Counting:")
      defer { progress.clear() }
      for path in paths {
        try Task.checkCancellation()
        progress.show("Counting the words of \(path.oneLine())")
        let number = try words(of: path).count
        progress.clear()
        if invocation.has(.json) {
          try print(.object([("file", .text(path)), ("words", .number(number))]))
        } else {
          try printLine("\(path.oneLine()): \(counted(number, "word"))")
        }
      }
      return .ok
    }
  }

  private static func longest(_ invocation: Invocation<Command>) throws -> ExitStatus {
    let limit = try invocation.number(.limit, minimum: 1) ?? 10
    let all = Set(try words(of: invocation.text(at: 0) ?? "")).sorted { $0.count > $1.count }
    let shown = all.prefix(Int(clamping: limit)).map(String.init)
    if invocation.has(.json) {
      try print(.list(shown.map(JSON.text)))
    } else {
      let output = Output.standard
      for word in shown {
        try output.writeLine("\(output.style.dim(String(word.count).paddedLeft(to: 4)))  \(word.oneLine())")
      }
      try output.flush()
    }
    return .ok
  }

  private static func words(of path: String) throws -> [Substring] {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandError(
        .notFound, "fileNotFound", "There is no file '\(path.oneLine())' that can be read.",
        advice: "Check its path and permissions.")
    }
    return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isWhitespace)
  }
}
