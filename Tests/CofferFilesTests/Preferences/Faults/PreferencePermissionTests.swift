import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Permissions that a user lacks and then receives while the program runs. The helper drops root privileges first, if
/// it has them.
@Suite(.blocking, .serialized) struct PreferencePermissionTests {
  /// Creates a suite with one value, owned by a user other than root.
  private func owned() async throws -> PreferenceFixture {
    let fixture = try PreferenceFixture()
    let adapter = try await fixture.adapter()
    try await adapter.set("dark", for: "theme")
    try await adapter.engine.close()
    try give(fixture)
    return fixture
  }

  private func give(_ fixture: PreferenceFixture) throws {
    guard chmod(fixture.outside(""), 0o755) == 0 else { throw TestFailure("chmod") }
    guard getuid() == 0 else { return }
    let below = try FileManager.default.subpathsOfDirectory(atPath: fixture.path).map { fixture.path + "/" + $0 }
    for path in [fixture.path] + below {
      guard lchown(path, 65_534, 65_534) == 0 else { throw TestFailure("chown") }
    }
  }

  private func talk(_ fixture: PreferenceFixture) throws -> HelperProcess {
    let talk = try fixture.run("prefs-as-nobody")
    guard try talk.line() == "ready" else { throw TestFailure("the helper is not ready") }
    return talk
  }

  private func ask(_ talk: HelperProcess, _ question: String) throws -> String {
    talk.tell(question)
    let line = try talk.line() ?? ""
    guard line.hasPrefix("theme ") else { return line }
    return "\(line), \(try talk.line() ?? "")"
  }

  private func expectRefusal(_ talk: HelperProcess, _ question: String) throws {
    let line = try ask(talk, question)
    #expect(line.hasPrefix("\(question) permissionDenied") && line.contains("Give this user"), "\(line)")
  }

  /// The permissions of the directory decide whether a file can be replaced; the file keeps its own.
  @Test func aReadOnlyFileInADirectoryOfOnesOwnIsReplaced() async throws {
    let fixture = try await owned()
    #expect(chmod(fixture.file, 0o400) == 0)
    let talk = try talk(fixture)
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try ask(talk, "read") == "theme light, read ok")
    var status = stat()
    #expect(stat(fixture.file, &status) == 0 && status.st_mode & 0o777 == 0o400)
    #expect(try fixture.texts() == ["theme": "light"])
  }

  /// A file that this user cannot read is never reported as absent and never replaced.
  @Test func anUnreadableFileIsUnavailableNotAbsent() async throws {
    let fixture = try await owned()
    let talk = try talk(fixture)
    #expect(try ask(talk, "available") == "available")
    let before = try fixture.texts()
    // A new modification time, so that the content read before is not used.
    try overwrite(fixture.file, try Data(contentsOf: URL(fileURLWithPath: fixture.file)))
    #expect(chmod(fixture.file, 0o000) == 0)
    try expectRefusal(talk, "read")
    try expectRefusal(talk, "write")
    #expect(try ask(talk, "away").hasPrefix("away "))
    #expect(chmod(fixture.file, 0o600) == 0)
    #expect(try fixture.texts() == before)
    #expect(try ask(talk, "available") == "available")
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try fixture.texts() == ["theme": "light"])
  }

  /// A commit reads the file again, so it is refused before anything is stored, whatever is known of the content.
  @Test func anUnreadableFileIsRefusedAlthoughItsContentIsKnown() async throws {
    let fixture = try await owned()
    let talk = try talk(fixture)
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(chmod(fixture.file, 0o000) == 0)
    try expectRefusal(talk, "write")
    #expect(chmod(fixture.file, 0o600) == 0)
    #expect(try fixture.texts() == ["theme": "dark"])
    #expect(try ask(talk, "read") == "theme dark, read ok")
  }

  @Test func aDirectoryThatBecomesReadOnlyCanBeRead() async throws {
    let fixture = try await owned()
    let talk = try talk(fixture)
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(chmod(fixture.path, 0o500) == 0)
    for _ in 0..<2 {
      try expectRefusal(talk, "write")
      #expect(try ask(talk, "read") == "theme dark, read ok")
      #expect(try ask(talk, "available") == "available")
    }
    #expect(try fixture.texts() == ["theme": "dark"])
    #expect(try fixture.names(in: "staged") == [])
    #expect(chmod(fixture.path, 0o700) == 0)
    #expect(try ask(talk, "write") == "write ok")
    #expect(try ask(talk, "read") == "theme light, read ok")
    #expect(try fixture.texts() == ["theme": "light"])
  }

  @Test func aDirectoryThatNobodyMayEnterIsAwayUntilItMay() async throws {
    let fixture = try await owned()
    let talk = try talk(fixture)
    #expect(try ask(talk, "available") == "available")
    #expect(chmod(fixture.path, 0o000) == 0)
    try expectRefusal(talk, "read")
    try expectRefusal(talk, "write")
    #expect(try ask(talk, "away").hasPrefix("away "))
    #expect(chmod(fixture.path, 0o700) == 0)
    #expect(try ask(talk, "available") == "available")
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try fixture.texts() == ["theme": "light"])
  }

  /// Without permissions at the first use, the adapter throws the reason and opens the suite once it can.
  @Test(arguments: [0o500, 0o000] as [mode_t]) func aDirectoryWithoutRightsAtTheStart(rights: mode_t) async throws {
    let fixture = try PreferenceFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
    try give(fixture)
    #expect(chmod(fixture.path, rights) == 0)
    let talk = try talk(fixture)
    try expectRefusal(talk, "read")
    try expectRefusal(talk, "write")
    #expect(try ask(talk, "away").hasPrefix("away "))
    // Without root, this process cannot list it either.
    if getuid() == 0 || rights != 0 {
      #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path) == [])
    }
    #expect(chmod(fixture.path, 0o700) == 0)
    #expect(try ask(talk, "available") == "available")
    #expect(try ask(talk, "read") == "theme absent, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try fixture.texts() == ["theme": "light"])
  }
}
