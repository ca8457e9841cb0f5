import CofferCore
import CofferPreferences
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// What a user may not do, and gets the right to do while the program runs. The helper gives up root first, if it has
/// it.
@Suite(.blocking, .serialized) struct PreferencePermissionTests {
  /// A suite with a theme in it, of a user who is not root.
  private func owned() async throws -> ConfigHome {
    let home = try ConfigHome()
    let adapter = try await home.adapter()
    try await adapter.set("dark", for: "theme")
    try await adapter.engine.close()
    try give(home)
    return home
  }

  private func give(_ home: ConfigHome) throws {
    guard chmod(home.outside(""), 0o755) == 0 else { throw TestFailure("chmod") }
    guard getuid() == 0 else { return }
    let below = try FileManager.default.subpathsOfDirectory(atPath: home.path).map { home.path + "/" + $0 }
    for path in [home.path] + below {
      guard lchown(path, 65_534, 65_534) == 0 else { throw TestFailure("chown") }
    }
  }

  private func talk(_ home: ConfigHome) throws -> HelperProcess {
    let talk = try home.run("prefs-as-nobody")
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

  /// The directory decides who may replace a file; the file keeps its rights.
  @Test func aReadOnlyFileInADirectoryOfOnesOwnIsReplaced() async throws {
    let home = try await owned()
    #expect(chmod(home.file, 0o400) == 0)
    let talk = try talk(home)
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try ask(talk, "read") == "theme light, read ok")
    var status = stat()
    #expect(stat(home.file, &status) == 0 && status.st_mode & 0o777 == 0o400)
    #expect(try home.texts() == ["theme": "light"])
  }

  /// It is there, only not for this user: never "absent", and never replaced by what is not known.
  @Test func anUnreadableFileIsUnavailableNotAbsent() async throws {
    let home = try await owned()
    let talk = try talk(home)
    #expect(try ask(talk, "available") == "available")
    let before = try home.texts()
    // Another date, so that nobody goes on with what was read before.
    try overwrite(home.file, try Data(contentsOf: URL(fileURLWithPath: home.file)))
    #expect(chmod(home.file, 0o000) == 0)
    try expectRefusal(talk, "read")
    try expectRefusal(talk, "write")
    #expect(try ask(talk, "away").hasPrefix("away "))
    #expect(chmod(home.file, 0o600) == 0)
    #expect(try home.texts() == before)
    #expect(try ask(talk, "available") == "available")
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try home.texts() == ["theme": "light"])
  }

  @Test func aDirectoryThatBecomesReadOnlyCanBeRead() async throws {
    let home = try await owned()
    let talk = try talk(home)
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(chmod(home.path, 0o500) == 0)
    for _ in 0..<2 {
      try expectRefusal(talk, "write")
      #expect(try ask(talk, "read") == "theme dark, read ok")
      #expect(try ask(talk, "available") == "available")
    }
    #expect(try home.texts() == ["theme": "dark"])
    #expect(try home.names(in: "staged") == [])
    #expect(chmod(home.path, 0o700) == 0)
    #expect(try ask(talk, "write") == "write ok")
    #expect(try ask(talk, "read") == "theme light, read ok")
    #expect(try home.texts() == ["theme": "light"])
  }

  @Test func aDirectoryThatNobodyMayEnterIsAwayUntilItMay() async throws {
    let home = try await owned()
    let talk = try talk(home)
    #expect(try ask(talk, "available") == "available")
    #expect(chmod(home.path, 0o000) == 0)
    try expectRefusal(talk, "read")
    try expectRefusal(talk, "write")
    #expect(try ask(talk, "away").hasPrefix("away "))
    #expect(chmod(home.path, 0o700) == 0)
    #expect(try ask(talk, "available") == "available")
    #expect(try ask(talk, "read") == "theme dark, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try home.texts() == ["theme": "light"])
  }

  /// Before the first use: the adapter says why it cannot be opened, and opens as soon as it can.
  @Test(arguments: [0o500, 0o000] as [mode_t]) func aDirectoryWithoutRightsAtTheStart(rights: mode_t) async throws {
    let home = try ConfigHome()
    try FileManager.default.createDirectory(atPath: home.path, withIntermediateDirectories: true)
    try give(home)
    #expect(chmod(home.path, rights) == 0)
    let talk = try talk(home)
    try expectRefusal(talk, "read")
    try expectRefusal(talk, "write")
    #expect(try ask(talk, "away").hasPrefix("away "))
    // Who is not root cannot look either.
    if getuid() == 0 || rights != 0 {
      #expect(try FileManager.default.contentsOfDirectory(atPath: home.path) == [])
    }
    #expect(chmod(home.path, 0o700) == 0)
    #expect(try ask(talk, "available") == "available")
    #expect(try ask(talk, "read") == "theme absent, read ok")
    #expect(try ask(talk, "write") == "write ok")
    #expect(try home.texts() == ["theme": "light"])
  }
}
