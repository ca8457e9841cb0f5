import CofferTestSupport
import Foundation
import Testing

/// Tests of the output on a terminal, which `script` provides.
@Suite("On a terminal", .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
struct TerminalTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("get adds only a missing line end")
  func lineEnd() async throws {
    try await sandbox.coffer("set", "a", "dark")
    try await sandbox.coffer("set", "b", "dark\n")
    #expect(try await sandbox.terminal("coffer get a; coffer get b").text == "dark\r\ndark\r\n")
  }

  @Test("Binary data is not printed on a terminal")
  func binary() async throws {
    try await sandbox.coffer("set", "a", "\u{1B}[2J")
    let ended = try await sandbox.terminal("coffer get a 2>&1; echo $?")
    #expect(ended.text.contains("4 bytes of binary data") && ended.text.contains("--json"))
    #expect(ended.lines.last == "1" && !ended.text.contains("[2J"))
  }

  /// Characters that reverse text, overwrite it or are invisible.
  static let deceptive = [
    "\r", "\u{61C}", "\u{200E}", "\u{200F}", "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}", "\u{2066}",
    "\u{2067}", "\u{2068}", "\u{2069}", "\u{E0001}", "\u{E0041}", "\u{E007F}", "\u{200B}", "\u{200C}", "\u{200D}",
    "\u{2060}", "\u{FEFF}", "\u{AD}", "\u{34F}", "\u{115F}", "\u{3164}", "\u{FE0F}", "\u{E0100}", "\u{FFF9}",
    "\u{2028}",
  ]

  @Test("Misleading characters are escaped on a terminal, and exact elsewhere")
  func deceptive() async throws {
    let text = Self.deceptive.joined(separator: "x") + "y"
    for name in ["k" + text, "other"] { try await sandbox.coffer("set", name, "v" + text) }
    let commands = ["get other", "ls", "ls --long", "get 'none\(text)' 2>&1", "watch --since 0 --count 2", "info"]
    try sandbox.write(Data(commands.map { "coffer \($0)\n" }.joined().utf8), to: "commands")
    let shown = try await sandbox.terminal("bash commands").text.replacing("\r\n", with: "\n")
    for character in Self.deceptive {
      #expect(
        !shown.contains(where: { $0.unicodeScalars.contains(character.unicodeScalars.first ?? "x") }),
        "\(character.debugDescription)")
    }
    #expect(shown.contains("v\\rx\\u{061C}x\\u{200E}x") && shown.contains("k\\rx\\u{061C}x\\u{200E}x"), "\(shown)")
    #expect(try await sandbox.coffer("get", "other").output == Data(("v" + text).utf8))
    #expect(try await sandbox.coffer("ls", "-0").output.starts(with: Data(("k" + text).utf8)))
    #expect(try await sandbox.coffer("get", "k" + text, "--json").json()["key"] as? String == "k" + text)
  }

  @Test("Emoji and text of any script are shown as they are")
  func emoji() async throws {
    for text in ["👩‍👩‍👧", "❤️", "1️⃣", "👍🏽", "Größe", "日本", "שלום", "🏳️‍🌈"] {
      try await sandbox.coffer("set", text, text + "\r\n\tnext\n")
      let shown = try await sandbox.terminal("coffer ls '\(text)'; coffer get '\(text)'").text
      #expect(shown.contains(text + "\r\n" + text), "\(shown.debugDescription)")
    }
  }

  @Test("Output has colours, unless NO_COLOR is set")
  func colours() async throws {
    try await sandbox.coffer("set", "a\n", "1")
    let coloured = try await sandbox.terminal("coffer ls --long").text
    #expect(coloured.contains("\u{1B}[2m") && coloured.contains("SIZE") && coloured.contains("a\\n"))
    let plain = try await sandbox.terminal("coffer ls --long", environment: [(name: "NO_COLOR", value: "1")]).text
    #expect(!plain.contains("\u{1B}") && plain.contains("SIZE"))
    #expect(try await !sandbox.coffer("ls", "--long").text.contains("\u{1B}"))
  }

  @Test("set reports a missing value and does not wait for input")
  func missingValue() async throws {
    let ended = try await sandbox.terminal("coffer set k; echo $?")
    #expect(ended.text.contains("The value is missing") && ended.lines.last == "2")
  }

  @Test("rm --prefix asks for confirmation")
  func prompt() async throws {
    try await sandbox.coffer("set", "tmp/a", "1")
    let no = try await sandbox.bash("printf 'n\\n' | script -qec 'coffer rm --prefix tmp/' /dev/null")
    #expect(no.text.contains("Remove 1 key starting with 'tmp/'? [y/N]") && no.text.contains("Nothing was removed."))
    #expect(try await sandbox.coffer("ls").lines == ["tmp/a"])
    let yes = try await sandbox.bash("printf 'y\\n' | script -qec 'coffer rm --prefix tmp/' /dev/null")
    #expect(yes.status == 0)
    #expect(try await sandbox.coffer("ls").output.isEmpty)
  }

  @Test("rm --prefix with nothing to remove succeeds without a question")
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

  @Test("An interrupted question ends with status 130")
  func interruptedPrompt() async throws {
    try await sandbox.coffer("set", "tmp/a", "1")
    let ended = try await sandbox.bash(
      "printf '\\004' | script -qec 'coffer rm --prefix tmp/; echo \"status $?\"' /dev/null")
    #expect(ended.text.contains("status 130"))
    #expect(try await sandbox.coffer("ls").lines == ["tmp/a"])
  }
}
