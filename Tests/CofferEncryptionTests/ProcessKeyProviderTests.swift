#if os(Linux)
  import CofferCore
  import CofferEncryption
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  @Suite(.blocking, .timeLimit(.minutes(5))) struct ProcessKeyProviderTests {
    private let folder: TemporaryDirectory
    init() throws { folder = try TemporaryDirectory() }

    private func shell(_ script: String) -> ProcessKeyProvider { ProcessKeyProvider("/bin/sh", ["-c", script]) }

    private func open(_ provider: ProcessKeyProvider, timeout: Duration = .seconds(60)) async throws -> OpenKeyRing {
      try await KeyRingStore(MemoryEngine()).open(
        with: .provider(provider, named: "shop key", timeout: timeout), settings: EncryptionSettings())
    }

    @Test func theOutputIsTheMaterial() async throws {
      let material = try await shell(
        #"cat; test "$COFFER_KEY_NAME" = 'shop key' && printf '0123456789abcdef%.0s' 1 2 3 4; exit 0"#
      ).keyMaterial(for: "shop key")
      #expect(material == Data(String(repeating: "0123456789abcdef", count: 4).utf8))
      _ = try await open(shell("printf '0123456789abcdef%.0s' 1 2 3 4"))
    }

    @Test(arguments: [
      ("echo 0123456789abcdef0123456789abcdef; exit 3", "status 3"), ("kill -9 $$", "signal 9"),
    ])
    func aFailureOfTheProgramIsReported(_ script: String, _ text: String) async throws {
      let error = try await storageError { _ = try await open(shell(script)) }
      #expect(error.code == .unavailable && error.message.contains(text), "\(error)")
      #expect(!error.description.contains("0123456789"))
    }

    @Test func aProgramThatCannotStartIsReported() async throws {
      for provider in [
        ProcessKeyProvider(folder.path("none")), ProcessKeyProvider("sh"), ProcessKeyProvider("/bin/sh\0x"),
        ProcessKeyProvider(folder.path("")),
      ] {
        #expect(try await storageError { _ = try await open(provider) }.code == .unavailable)
      }
    }

    @Test func anEndlessOutputIsRefused() async throws {
      #expect(try await storageError { _ = try await open(shell("exec yes")) }.code == .invalidKeyMaterial)
      #expect(try await storageError { _ = try await open(shell("true")) }.code == .invalidKeyMaterial)
    }

    /// The program writes its id and then hangs; it must not be there any more when it is late or cancelled.
    @Test(arguments: ["exec sleep 3600", "exec >&-; exec sleep 3600", "sleep 2 & exec sleep 3600"])
    func aProgramThatHangsIsKilled(_ script: String) async throws {
      let file = folder.path("id")
      let hanging = shell("echo $$ > '\(file).new' && mv '\(file).new' '\(file)'; \(script)")
      let task = Task { try await hanging.keyMaterial(for: "a") }
      try await eventually("the program writes its id") { FileManager.default.fileExists(atPath: file) }
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let pid = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
      task.cancel()
      await #expect(throws: (any Error).self) { _ = try await task.value }
      #expect(kill(pid, 0) == -1 && errno == ESRCH)
    }

    @Test func aProgramThatIsLateIsUnavailable() async throws {
      let error = try await storageError { _ = try await open(shell("exec sleep 3600"), timeout: .milliseconds(50)) }
      #expect(error.code == .unavailable && error.message.contains("did not answer"))
    }
  }
#endif
