import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

@Suite("The command line")
struct UsageTests {
  struct Mistake: Sendable, CustomTestStringConvertible {
    let line: String
    let message: String
    var testDescription: String { line }

    init(_ line: String, _ message: String) {
      self.line = line
      self.message = message
    }
  }

  static let mistakes = [
    Mistake("gte k", "There is no command 'gte'. Did you mean 'get'? Try 'coffer help'."),
    Mistake("delete k", "There is no command 'delete'. Did you mean 'rm'? Try 'coffer help'."),
    Mistake(
      "frobnicate",
      "There is no command 'frobnicate'. The commands are set, get, rm, ls, cp, backup, restore, quarantine, watch, "
        + "info, verify, audit, doctor, import, schema, postgresql, encrypt, rotate, rekey, keys, "
        + "decrypt, shred, completions, help, version. Try 'coffer help'."),
    Mistake("cp a.db", "'cp' needs a TO: coffer cp [OPTIONS] FROM TO. Try 'coffer help cp'."),
    Mistake("cp a.db ''", "TO is empty: coffer cp [OPTIONS] FROM TO. Try 'coffer help cp'."),
    Mistake(
      "cp a.db b.db --store c",
      "'cp' has no option --store; set, get, rm, ls, backup, restore, quarantine, watch, info, verify, postgresql "
        + "have. Try 'coffer help cp'."),
    Mistake("get ''", "A key must not be empty. Give the value a name of at least one byte. Try 'coffer help get'."),
    Mistake(
      "get a b",
      "'get' takes one argument, not 2: coffer get [OPTIONS] KEY. Quote a value that contains spaces. "
        + "Try 'coffer help get'."),
    Mistake("info x", "'info' takes no arguments, not 1: coffer info [OPTIONS]. Try 'coffer help info'."),
    Mistake("get k --jsno", "There is no option '--jsno'. Did you mean '--json'? Try 'coffer help get'."),
    Mistake("ls --count 3", "'ls' has no option --count; watch has. Try 'coffer help ls'."),
    Mistake("ls --store", "--store needs a value: --store PATH. Try 'coffer help ls'."),
    Mistake("ls --store=", "--store needs a value that is not empty. Try 'coffer help ls'."),
    Mistake("ls --json=yes", "--json takes no value. Try 'coffer help ls'."),
    Mistake(
      "ls -x", "There is no option '-x': put -- before a key or value that starts with a dash. Try 'coffer help ls'."),
    Mistake("watch --count 0", "--count takes a whole number of at least 1: --count 10. Try 'coffer help watch'."),
    Mistake(
      "watch --since 99999999999999999999",
      "--since takes a whole number of at least 0 and at most 18446744073709551615: --since 10. "
        + "Try 'coffer help watch'."),
    Mistake("rm", "'rm' needs a KEY or --prefix PREFIX: coffer rm [OPTIONS] [KEY...]. Try 'coffer help rm'."),
    Mistake("rm a --prefix b", "'rm' takes keys or --prefix PREFIX, not both. Try 'coffer help rm'."),
    Mistake(
      "rm --prefix b", "'rm --prefix' needs --yes when there is no terminal. Try 'coffer help rm'."),
    Mistake("set k v --file f", "'set' takes VALUE or --file PATH, not both. Try 'coffer help set'."),
    Mistake(
      "set k",
      "The value is missing: coffer set KEY VALUE, or --file PATH, or - for standard input. Try 'coffer help set'."),
    Mistake("ls --store sqlite:", "The store has no path: sqlite:PATH. Try 'coffer help'."),
    Mistake(
      "set k v --store not-there/", "A store is a file, and this path ends in a slash. Try 'coffer help'."),
    Mistake("set a 1 --type number", "Only preferences have a type: --store prefs:SUITE. Try 'coffer help set'."),
    Mistake(
      "set a 1 --type int --store prefs:s",
      "--type takes one of string, number, boolean, date, data. "
        + "Try 'coffer help set'."),
    Mistake(
      "set a x --type number --store prefs:s", "The value is not a valid number: 30 or 0.5. Try 'coffer help set'."),
    Mistake(
      "ls --store sealed:p+keychain:s",
      "A sealed file is the last of a chain: keychain:SERVICE+sealed:PATH. Try 'coffer help'."),
    Mistake("ls --store keychain:", "A name is empty: keychain:SERVICE[@GROUP]. Try 'coffer help'."),
    Mistake("help gett", "There is no command 'gett'. Did you mean 'get'? Try 'coffer help'."),
  ]

  @Test("A mistake is one line with the correct form, and status 2", arguments: mistakes)
  func mistake(_ mistake: Mistake) async throws {
    let sandbox = try Sandbox()
    let ended = try await sandbox.bash("coffer \(mistake.line) </dev/null")
    #expect(ended.status == 2 && ended.output.isEmpty)
    #expect(ended.errors == "coffer: \(mistake.message)\n")
    #expect(!sandbox.exists("store.db"))
  }

  @Test(
    "No error repeats a value", arguments: ["set k -hunter2", "set k --hunter2", "set k hunter2 x", "set -hunter2"])
  func secrets(_ line: String) async throws {
    let ended = try await Sandbox().bash("coffer \(line) </dev/null; coffer \(line) --json </dev/null")
    #expect(ended.status == 2 && !ended.errors.contains("hunter2"))
  }

  @Test("A usage error can be JSON")
  func json() async throws {
    let error = try await Sandbox().coffer("get", "--json").errorJSON()
    #expect(error["code"] as? String == "usage" && error["advice"] as? String == "Try 'coffer help get'.")
    #expect(error["key"] is NSNull && error["store"] is NSNull)
    let both = try await Sandbox().coffer("ls", "-0", "--json")
    #expect(both.status == 2)
    #expect(try both.errorJSON()["message"] as? String == "'ls' takes --null or --json, not both.")
  }

  @Test("Without arguments it prints help, with status 2")
  func nothing() async throws {
    let ended = try await Sandbox().coffer()
    #expect(ended.status == 2 && ended.output.isEmpty && ended.errors.hasPrefix("Usage:") == false)
    #expect(ended.errors.contains("Usage: coffer COMMAND"))
  }

  @Test("Help has an example for every command and fits a terminal", arguments: Command.allCases)
  func help(_ command: Command) async throws {
    let sandbox = try Sandbox()
    let help = try await sandbox.coffer("help", command.rawValue)
    #expect(help.status == 0 && help.errors.isEmpty)
    #expect(help.text.contains("Examples\n  ") && help.text.contains("coffer \(command.rawValue)"))
    #expect(help.text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(help.text)")
    #expect(try await sandbox.coffer(command.rawValue, "--help").text == help.text)
    #expect(try await sandbox.coffer(command.rawValue, "-h").text == help.text)
  }

  @Test("The overview names commands and exit statuses")
  func overview() async throws {
    let help = try await Sandbox().coffer("--help")
    for command in Command.allCases { #expect(help.text.contains("\n  \(command.rawValue) ")) }
    for status in ExitStatus.allCases where !status.meaning.isEmpty {
      #expect(help.text.contains("\n  \(status.rawValue) "))
    }
    #expect(help.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test("The version, three ways")
  func version() async throws {
    let sandbox = try Sandbox()
    let text = try await sandbox.coffer("version").text
    #expect(text.wholeMatch(of: /coffer \d+\.\d+\.\d+\n/) != nil)
    #expect(try await sandbox.coffer("--version").text == text)
    #expect(try await sandbox.coffer("version", "--json").json()["name"] as? String == "coffer")
  }

  @Test("Every example in help works as printed")
  func examples() async throws {
    let sandbox = try Sandbox()
    try sandbox.write(Data([0, 1, 2]), to: "logo.png")
    try await sandbox.coffer("set", "settings/theme", "dark", "--store", "app.db")
    try await sandbox.coffer("set", "tmp/seed", "1")
    try await sandbox.coffer("set", "theme", "dark", "--store", "prefs:shop")
    try await sandbox.coffer("set", "a", "1", "--store", "n.db")
    try sandbox.makePassphrase("words")
    try sandbox.makeKey("new.key")
    let none = #"{"format":1,"application":"shop","catalogs":[],"entries":[]}"#
    try sandbox.write(Data(none.utf8), to: "keys.json")
    try FileManager.default.createDirectory(atPath: sandbox.path("state"), withIntermediateDirectories: false)
    try sandbox.write(Data("true".utf8), to: "state/ui.dark")
    let preferences = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .xml, options: 0)
    try sandbox.write(preferences, to: "prefs.plist")
    try sandbox.write(Data(#"{"key":"line","text":"1"}"#.utf8), to: "values.jsonl")
    try sql(
      "CREATE TABLE kv (k TEXT PRIMARY KEY, v BLOB); INSERT INTO kv VALUES ('b', x'01')", on: sandbox.path("old.db"))
    // `watch` does not end without --count, and `postgresql` needs a server, with which its own tests run it.
    for command in Command.allCases where ![.watch, .postgresql].contains(command) {
      for example in command.syntax.examples {
        let ended = try await sandbox.bash("set -o pipefail; \(example.line)")
        #expect(ended.status == 0 && !ended.errors.contains("coffer:"), "\(example.line): \(ended.errors)")
      }
      if command == .rm { try await sandbox.coffer("set", "tmp/seed", "1") }
    }
    #expect(try sandbox.read("copy.png") == Data([0, 1, 2]))
  }
}
