import CofferTerminal
import CofferTestSupport
import Foundation
import Testing

@testable import CofferCommand

private let hasScript = FileManager.default.isExecutableFile(atPath: "/usr/bin/script")

@Suite("Completions")
struct ShellTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Returns the completions that bash offers for the last of the given words.
  private func complete(_ words: String...) async throws -> [String] {
    let quoted = words.map { "'\($0)'" }.joined(separator: " ")
    let ended = try await sandbox.bash(
      """
      source <(coffer completions) && complete -p coffer >/dev/null || exit 1
      COMP_WORDS=(coffer \(quoted)); COMP_CWORD=\(words.count)
      _coffer && ((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
      exit 0
      """)
    #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
    return ended.lines
  }

  @Test("bash completes commands, options, files and keys")
  func bash() async throws {
    try sandbox.write(Data(), to: "logo.png")
    for key in ["theme", "two words", "-dash"] { try await sandbox.bash("coffer set --relaxed -- '\(key)' 1") }
    try await sandbox.coffer("set", "elsewhere", "1", "--store", "other.db")
    #expect(try await complete("") == Command.allCases.map(\.rawValue))
    #expect(try await complete("w") == ["watch"])
    #expect(try await complete("--v") == ["--version"])
    #expect(try await complete("set", "--re") == ["--relaxed"])
    #expect(try await complete("set", "logo", "--file", "lo") == ["logo.png"])
    #expect(try await complete("get", "t") == ["theme", "two\\ words"])
    #expect(try await complete("get", "theme", "t") == [])
    #expect(try await complete("rm", "theme", "t") == ["theme", "two\\ words"])
    #expect(try await complete("rm", "--prefix", "th") == ["theme"])
    #expect(try await complete("--store", "other.db", "get", "") == ["elsewhere"])
    #expect(try await complete("get", "--store", "none.db", "") == [])
    #expect(try await complete("cp", "logo") == ["logo.png"])
    #expect(try await complete("cp", "other.db", "--json", "st").sorted() == ["store.db", "store.db-wake"])
    #expect(try await complete("cp", "sqlite", ":", "logo") == ["logo.png"])
    #expect(try await complete("cp", "other.db", "to.db", "--prefix", "e") == ["elsewhere"])
    #expect(try await complete("ver") == ["verify", "version"])
    #expect(try await complete("help", "co") == ["completions"])
    #expect(try await complete("set", "k", "--type", "b") == ["boolean"])
    #expect(try await complete("get", "--passphrase-file", "lo") == ["logo.png"])
    #expect(try await complete("doctor", "lo") == ["logo.png"])
    #expect(!sandbox.exists("none.db"))
  }

  @Test("Completing keys of a sealed store never prompts", .enabled(if: hasScript))
  func neverAsks() async throws {
    try sandbox.write(Data("COFFSEAL".utf8) + Data([1, 1]) + Data(repeating: 0, count: 200), to: "s.sealed")
    let line = "COFFER_NEVER_ASK=1 coffer ls --store sealed:s.sealed; echo $?"
    let ended = try await sandbox.terminal(line)
    #expect(!ended.text.contains("Passphrase of") && ended.lines.last == "1", "\(ended.text)")
    #expect(Command.completionScript.contains("COFFER_NEVER_ASK=1"))
  }

  @Test("Every option of a command is in the script")
  func options() {
    for option in Command.allCases.flatMap(\.syntax.allOptions) {
      #expect(Command.completionScript.contains(option.name))
    }
  }
}
