import CofferTestSupport
import Foundation
import Testing

/// What a person sees. `script` gives the program a terminal.
@Suite("On a terminal", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
struct TerminalTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("get adds the missing line end, and only that")
  func lineEnd() async throws {
    try await sandbox.coffer("set", "a", "dark")
    try await sandbox.coffer("set", "b", "dark\n")
    #expect(try await sandbox.terminal("coffer get a; coffer get b").text == "dark\r\ndark\r\n")
  }

  @Test("Binary data stays off the terminal")
  func binary() async throws {
    try await sandbox.coffer("set", "a", "\u{1B}[2J")
    let ended = try await sandbox.terminal("coffer get a 2>&1; echo $?")
    #expect(ended.text.contains("4 bytes of binary data") && ended.text.contains("--json"))
    #expect(ended.lines.last == "1" && !ended.text.contains("[2J"))
  }

  @Test("Colours are there, and go with NO_COLOR")
  func colours() async throws {
    try await sandbox.coffer("set", "a\n", "1")
    let coloured = try await sandbox.terminal("coffer ls --long").text
    #expect(coloured.contains("\u{1B}[2m") && coloured.contains("SIZE") && coloured.contains("a\\n"))
    let plain = try await sandbox.terminal("coffer ls --long", environment: [(name: "NO_COLOR", value: "1")]).text
    #expect(!plain.contains("\u{1B}") && plain.contains("SIZE"))
    #expect(try await !sandbox.coffer("ls", "--long").text.contains("\u{1B}"))
  }

  @Test("set says what is missing and does not wait for it")
  func missingValue() async throws {
    let ended = try await sandbox.terminal("coffer set k; echo $?")
    #expect(ended.text.contains("The value is missing") && ended.lines.last == "2")
  }

  @Test("rm --prefix asks")
  func prompt() async throws {
    try await sandbox.coffer("set", "tmp/a", "1")
    let no = try await sandbox.bash("printf 'n\\n' | script -qec 'coffer rm --prefix tmp/' /dev/null")
    #expect(no.text.contains("Remove 1 key starting with 'tmp/'? [y/N]") && no.text.contains("Nothing was removed."))
    #expect(try await sandbox.coffer("ls").lines == ["tmp/a"])
    let yes = try await sandbox.bash("printf 'y\\n' | script -qec 'coffer rm --prefix tmp/' /dev/null")
    #expect(yes.status == 0)
    #expect(try await sandbox.coffer("ls").output.isEmpty)
  }

  @Test("rm --prefix with nothing to remove asks nothing and is no failure")
  func nothingToRemove() async throws {
    try await sandbox.coffer("set", "tmp/a", "1")
    let ended = try await sandbox.terminal("coffer rm --prefix zzz; echo $?; coffer rm --prefix zzz --yes; echo $?")
    #expect(ended.lines == ["No key starts with 'zzz'.", "0", "0"])
    let json = try await sandbox.terminal("coffer rm --prefix zzz --json").json()
    #expect(json["removed"] as? Int == 0 && json["transaction"] is NSNull)
  }

  @Test("Errors wrap between words at the terminal's width")
  func wrapping() async throws {
    let ended = try await sandbox.terminal("stty cols 40; coffer gte; coffer gte --json")
    let text = ended.text.replacing(/\u{1B}\[\d*m/, with: "")
    #expect(
      text.hasPrefix("coffer: There is no command 'gte'. Did\r\nyou mean 'get'? Try 'coffer help'.\r\n{"), "\(text)")
    #expect(ended.lines.count == 3)
  }

  @Test("A question that is interrupted is status 130")
  func interruptedPrompt() async throws {
    try await sandbox.coffer("set", "tmp/a", "1")
    let ended = try await sandbox.bash(
      "printf '\\004' | script -qec 'coffer rm --prefix tmp/; echo \"status $?\"' /dev/null")
    #expect(ended.text.contains("status 130"))
    #expect(try await sandbox.coffer("ls").lines == ["tmp/a"])
  }
}
