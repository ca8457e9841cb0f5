#if SecretService && os(Linux)
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// A computer without the libraries through which keyrings are spoken to.
  @Suite("Without the keyring's libraries", .blocking, .serialized, .enabled(if: canTestKeyring, whyNoKeyring))
  struct MissingLibraryTests {
    /// What a process says that tries to use a keyring, which runs and is open.
    private func attempt(_ library: BrokenLibrary) throws -> [String] {
      let keyring = try PrivateKeyring()
      let file = keyring.root.appendingPathComponent("secrets.sealed").path
      let helper = try HelperProcess(
        ["keychain-try", "coffer.test", file], environment: keyring.environment + [library.environment])
      let lines = try helper.lines()
      #expect(helper.wait() == 0, "\(lines)")
      try #require(lines.count == 3, "\(lines)")
      return lines
    }

    @Test(
      "It is unavailable, says what to install, and a chain goes on to its next home",
      arguments: [("libgio-2.0.so.0", "libglib2.0-0"), ("libsecret-1.so.0", "libsecret-1-0")])
    func missing(_ library: String, _ package: String) throws {
      let said = try attempt(BrokenLibrary(library))
      let reason = "the library \(library) (Debian: \(package)) cannot be loaded: "
      #expect(said[0].contains(reason), "\(said)")
      #expect(said[0].contains("Install the library and start the program again."), "\(said)")
      #expect(said[1] == "unavailable")
      #expect(said[2].hasPrefix("home 1: ") && said[2].contains(reason), "\(said)")
    }

    @Test("One that lacks a function is as good as none, and the function is named")
    func tooOld() throws {
      let other = try #require(
        ["/lib", "/usr/lib", "/lib64", "/usr/lib64"].flatMap { folder in
          ["", "/x86_64-linux-gnu", "/aarch64-linux-gnu"].map { "\(folder)\($0)/libz.so.1" }
        }.lazy.compactMap { FileManager.default.contents(atPath: $0) }.first)
      let said = try attempt(BrokenLibrary("libsecret-1.so.0", other))
      #expect(said[0].contains("undefined symbol: "), "\(said)")
      #expect(said[1] == "unavailable")
    }
  }
#endif
