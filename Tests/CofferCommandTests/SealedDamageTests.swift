import CofferTestSupport
import Foundation
import Testing

/// Tests of the commands over a sealed file that is damaged, missing or older than its journal.
@Suite("Damaged sealed files", .serialized)
struct SealedDamageTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func run(_ script: String) async throws -> EndedProgram {
    try await sandbox.bash(
      "export COFFER_STORE=sealed:s; words() { coffer \"$@\" --passphrase-file words; }; " + script)
  }

  private func prepare() async throws {
    let seal = "umask 077; printf 'open sesame' > words; for k in a b; do printf $k | words set $k; done"
    #expect(try await run(seal).status == 0)
  }

  @Test("verify reports whether the file is damaged, and opening the store repairs the rest")
  func verify() async throws {
    try await prepare()
    #expect(try await run("words verify").status == 0)
    // Adds one to a byte: most bytes are random, and a fixed one would be there already once in 256 runs.
    let damage = """
      flip() {
        byte=$(od -An -tu1 -j $2 -N 1 $1); printf "\\\\$(printf %o $(((byte + 1) % 256)))" \
          | dd of=$1 bs=1 seek=$2 conv=notrunc status=none
      }

      """
    for (script, expected) in [
      ("flip s 60", "The file cannot be read. The sealed store is damaged: its header"),
      ("flip s 190; cp s s.coffer/copy; cp good s", "The copy cannot be read. The sealed store is damaged: its values"),
      (
        "printf x > s.coffer/retained/00000000000000010000000000000001",
        "retained/00000000000000010000000000000001 is damaged"
      ),
    ] {
      let ended = try await run(
        damage
          + "cp s good; cp s.coffer/copy copy; \(script); words verify --read-only; exit $?"
      )
      #expect(ended.status == 1 && ended.errors.contains(expected), "\(ended.errors)")
      // A writer removes retained values that no snapshot uses, and writes a damaged copy again.
      let repaired = expected.hasPrefix("The file") ? "" : "words verify >&2 && cmp good s.coffer/copy && "
      let after = try await run(repaired + "cp good s; cp copy s.coffer/copy")
      #expect(after.status == 0, "\(expected): \(after.errors)")
    }
  }

  @Test("A sealed file that is gone is damage, not a missing store with status 3")
  func gone() async throws {
    try await prepare()
    let ended = try await run("rm s; words get a")
    #expect(ended.status == 1 && ended.errors.contains("The sealed file is gone"), "\(ended.errors)")
    #expect(ended.errors.contains("s.coffer/copy"))
    #expect(try await run("rm -r s.coffer/journal.db*; words get a").status == 1)
  }

  @Test("The use of an older copy is reported with its keys, whose values are not read")
  func older() async throws {
    try await prepare()
    let ended = try await run(
      "cp s.coffer/copy older; printf new | words set a; cp older s.coffer/copy; "
        + "printf x >> s; words get b; echo; words get a"
    )
    #expect(ended.status == 1 && ended.lines == ["b"], "\(ended.errors)")
    #expect(ended.errors.contains("has lost the newest value of 'a'"), "\(ended.errors)")
    #expect(ended.errors.contains("The newest value is lost"), "\(ended.errors)")
    let again = try await run("printf x | words set c; words verify")
    #expect(again.status == 1 && again.lines == ["a"], "\(again.errors)")
  }

  @Test("The use of a copy is not reported if there is none")
  func noCopy() async throws {
    try await prepare()
    let ended = try await run("rm s.coffer/copy; printf x >> s; words get a")
    #expect(ended.status == 1 && !ended.errors.contains("is used instead"), "\(ended.errors)")
  }
}
