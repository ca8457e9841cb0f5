import CofferTestSupport
import Foundation
import Testing

/// Tests of prompts and bars on a terminal, which `script` provides.
@Suite(
  "Encryption on a terminal", .serialized,
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
struct EncryptionTerminalTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A new passphrase is asked for twice, and then once")
  func passphrase() async throws {
    try await sandbox.coffer("set", "a", "unmistakable")
    // The words are typed after the prompts, since earlier input is discarded.
    func typing(_ command: String, after prompts: [String]) async throws -> String {
      let script = """
        rm -f keys shown; mkfifo keys; exec 4<>keys
        script -qefc '\(command)' shown <keys >/dev/null & pid=$!
        for asked in \(prompts.map { "'\($0)'" }.joined(separator: " ")); do
          for ((try = 0; try < 5000; try++)); do grep -q "$asked" shown 2>/dev/null && break; sleep 0.02; done
          printf 'typed words\\n' >&4
        done
        wait $pid; echo $?; cat shown
        """
      return try await sandbox.bash(script).text
    }
    let interrupted = try await sandbox.bash(
      """
      mkfifo none; exec 4<>none
      script -qefc 'coffer encrypt store.db; echo "status $?"' shown <none >/dev/null & pid=$!
      for ((try = 0; try < 5000; try++)); do grep -q 'New pass' shown 2>/dev/null && break; sleep 0.02; done
      printf '\\003' >&4; wait $pid; cat shown
      """)
    #expect(!interrupted.text.contains("status 0") && !interrupted.text.contains("Error"), "\(interrupted.text)")
    #expect(try await sandbox.coffer("get", "a").text == "unmistakable")
    let made = try await typing("coffer encrypt store.db", after: ["New passphrase of", "Repeat the"])
    #expect(made.contains("New passphrase of sqlite:") && made.contains("Encrypted 1 value"), "\(made)")
    #expect(!made.contains("typed words"))
    let read = try await typing("coffer get a", after: ["Passphrase of"])
    #expect(read.contains("Passphrase of sqlite:") && read.contains("unmistakable"), "\(read)")
    // Listings never ask.
    #expect(try await sandbox.terminal("coffer ls").lines == ["a"])
  }

  @Test("A bar is drawn on a terminal, and not into a pipe")
  func bar() async throws {
    let key = try sandbox.makeKey()
    try await sandbox.fill(count: 30_000)
    let shown = try await sandbox.terminal("coffer encrypt store.db --key-file \(key)")
    #expect(
      shown.text.contains("Encrypting  [") && shown.text.contains(" of 30,000 values"), "\(shown.text.prefix(500))")
    let piped = try await sandbox.terminal("coffer rotate store.db --key-file \(key) 2>&1 | cat")
    #expect(!piped.text.contains("Rotating  [") && piped.text.contains("Encrypted 30,000 values"), "\(piped.text)")
  }
}
