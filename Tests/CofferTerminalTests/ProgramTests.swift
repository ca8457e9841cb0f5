import CofferTerminal
import Foundation
import Testing

@Suite("Programs are declared as a table")
struct ProgramTests {
  private func parse(_ words: String...) throws -> Invocation<Market> {
    try Invocation(parsing: words)
  }

  private func mistake(_ words: String...) -> String? {
    do {
      _ = try Invocation<Market>(parsing: words)
      return nil
    } catch {
      return CommandError(error).text
    }
  }

  @Test("Help is generated from the table")
  func help() {
    let help = Help<Market>(style: Style(isOn: false))
    #expect(
      help.overview == """
        Look at stalls.

        Usage: market COMMAND [OPTIONS] [ARGUMENTS]

        Commands
          visit        go to stalls
          load         load a file
          completions  print completions for bash
          help         show help
          version      show the version

        Options of most commands
          --json      print JSON
          -h, --help  show help

        Stalls
          Each sells
          something:
          pears  soft
          nuts   hard

        Exit status
          0    it worked
          1    it failed
          2    the command line is wrong
          3    there is no such thing
          130  it was interrupted

        Examples
          market visit pears  # go there

        'market help COMMAND' explains a command.

        """)
    #expect(
      help.text(for: .visit) == """
        Usage: market visit [OPTIONS] STALL...

        Go to stalls.

        It takes a while.

        Arguments
          STALL  which

        Options
          --stall STALL  the stall to go to
          --colour WHEN  whether it's in colour
          --json         print JSON
          -h, --help     show help

        Examples
          market visit pears  # go there

        """)
  }

  @Test("Arguments are parsed into an invocation")
  func parsing() throws {
    let visit = try parse("visit", "--colour=never", "--json", "pears", "--", "-x")
    #expect(visit.command == .visit && visit.options == [.colour: "never", .json: ""])
    #expect(try visit.texts() == ["pears", "-x"] && visit.operands.map(\.isLiteral) == [false, true])
    #expect(try parse("--version").command == .version && parse("visit", "-h").command == .help)
    #expect(try parse("visit", "-h").texts() == ["visit"])
  }

  @Test("A program can have a default command")
  func defaultCommand() throws {
    #expect(try Invocation<Kiosk>(parsing: []) == Invocation(.show))
    #expect(try Invocation<Kiosk>(parsing: ["--json"]) == Invocation(.show, options: [.json: ""]))
    #expect(try Invocation<Kiosk>(parsing: ["-h"]).command == .help)
  }

  @Test("Usage errors name the program and the correct usage")
  func mistakes() {
    #expect(mistake("go") == "There is no command 'go'. Did you mean 'visit'? Try 'market help'.")
    #expect(mistake("visit") == "'visit' needs a STALL: market visit [OPTIONS] STALL.... Try 'market help visit'.")
    #expect(mistake("--json") == "Name a command: market COMMAND. Try 'market help'.")
    #expect(mistake("load", "--json") == "'load' has no option --json; visit, version have. Try 'market help load'.")
    #expect(
      mistake("load", "-x")
        == "There is no option '-x': put -- before an argument that starts with a dash. Try 'market help load'.")
  }

  @Test("An error names the operand that is not valid UTF-8")
  func bytes() throws {
    let operands = ["a".utf8.map(\.self), [0xFF]].map { Invocation<Market>.Operand(bytes: $0) }
    let invocation = Invocation<Market>(.visit, operands: operands)
    let error = try #require(throws: CommandError.self) { try invocation.texts() }
    #expect(error.text == "STALL is not valid UTF-8. Try 'market help visit'." && error.status == .usage)
    let other = try #require(throws: CommandError.self) { try invocation.text(at: 1, as: "It") }
    #expect(other.message == "It is not valid UTF-8.")
    #expect(try invocation.text(at: 2) == nil)
  }

  @Test("A JSON error has the subjects that the program declares")
  func errors() {
    let error = CommandError(.usage, "usage", "Wrong.", advice: "Right.")
    #expect(error.json([]).line == #"{"error":{"code":"usage","message":"Wrong.","advice":"Right."}}"#)
    #expect(error.json([.store, .key]).line.hasSuffix(#","store":null,"key":null}}"#))
  }

  @Test("bash completes commands, options, words, files and listed words")
  func completions() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("terminal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let stub = folder.appendingPathComponent("market")
    try Data("#!/bin/bash\n[[ $* == 'stalls -0 -- '* ]] && printf 'pears\\0old nuts\\0'\n".utf8).write(to: stub)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: stub.path)
    try Data(Market.completionScript.utf8).write(to: folder.appendingPathComponent("script"))
    #expect(!Market.completionScript.lowercased().contains("coffer"))
    let lines = ["''", "vi", "visit --co", "visit --colour a", "visit ''", "visit x --stall ''", "load scr", "help l"]
    var script = "source script || exit 1\n"
    for line in lines {
      script += "COMP_WORDS=(market \(line)); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _market; "
      script += "echo \"${COMPREPLY[*]}\"\n"
    }
    #expect(
      try await bash(script, in: folder) == [
        "visit load completions help version", "visit", "--colour", "always", "pears old\\ nuts", "pears old\\ nuts",
        "script", "load",
      ])
  }
}
