#if SecretService && os(Linux)
  import CofferTestSupport
  import CofferTestTraits
  import Foundation
  import Testing

  /// A machine without the libraries that keyrings are reached with.
  @Suite(
    "Without the keyring's libraries", .blocking, .serialized, .enabled(if: canTestKeyring, keyringUnavailabilityReason)
  )
  struct MissingLibraryTests {
    /// Returns the output of a process that tries to use a keyring, which is running and open.
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
      "It is unavailable, the error names what to install, and a chain uses its next store",
      arguments: [("libgio-2.0.so.0", "libglib2.0-0"), ("libsecret-1.so.0", "libsecret-1-0")])
    func missing(_ library: String, _ package: String) throws {
      let said = try attempt(BrokenLibrary(library))
      let reason = "the library \(library) (Debian: \(package)) cannot be loaded: "
      #expect(said[0].contains(reason), "\(said)")
      #expect(said[0].contains("Install the library and start the program again."), "\(said)")
      #expect(said[1] == "unavailable")
      #expect(said[2].hasPrefix("store 1: ") && said[2].contains(reason), "\(said)")
    }

    @Test("A library that lacks a function counts as missing, and the error names the function")
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
