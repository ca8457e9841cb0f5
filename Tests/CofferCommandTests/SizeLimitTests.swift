import CofferTestSupport
import Foundation
import Testing

/// Tests under a limit of the size of files (`RLIMIT_FSIZE`).
@Suite(
  "A limit of the size of files", .serialized,
  .disabled(if: isThreadSanitized, "the files of the thread sanitizer meet the limit"))
struct SizeLimitTests {
  @Test(
    "A file beyond the limit of the process is no failing device, and what was stored is kept",
    arguments: [
      ("d/a.db", 900_000, 512), ("file:d/f", 900_000, 512), ("prefs:p", 900_000, 512), ("sealed:d/s", 60_000, 48),
    ])
  func limit(_ store: String, size: Int, kibibytes: Int) async throws {
    let sandbox = try Sandbox()
    func run(_ line: String) async throws -> EndedProgram {
      let options = "--store \(store)" + (store.hasPrefix("sealed") ? " --passphrase-file words" : "")
      return try await sandbox.bash("export XDG_CONFIG_HOME=$PWD/d; " + line.replacing("STORE", with: options))
    }
    try await sandbox.bash("mkdir d; (umask 077; printf 'open sesame' > words)")
    let first = try await run("printf 1 | coffer set a - STORE")
    try #require(first.status == 0, "\(first.errors)")
    let refused = try await run(
      "head -c \(size) /dev/zero | tr '\\0' x > value; ulimit -f \(kibibytes); "
        + "env --default-signal=XFSZ coffer set b - STORE < value")
    #expect(refused.status == 1 && refused.errors.contains("larger than this process"), "\(refused.errors)")
    #expect(refused.errors.contains("ulimit -f") && !refused.errors.contains("device"), "\(refused.errors)")
    #expect(try await run("coffer get a STORE").text == "1")
    let again = try await run("coffer set b - STORE < value")
    #expect(again.status == 0, "\(again.errors)")
  }
}
