import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// A link, a directory or a pipe at the path of the property list.
@Suite(.blocking, .serialized) struct PreferenceObstacleTests {
  private func kind(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
  }

  /// A symbolic link to a property list elsewhere, as users of a dotfiles directory create it.
  @Test func aLinkStaysALinkAndItsTargetIsReplaced() async throws {
    let fixture = try PreferenceFixture()
    let target = fixture.outside("dotfiles/shop.plist")
    for folder in [fixture.path, fixture.outside("dotfiles")] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let list = try PropertyListSerialization.data(fromPropertyList: ["theirs": "x"], format: .xml, options: 0)
    try overwrite(target, list)
    #expect(chmod(target, 0o640) == 0)
    #expect(symlink("../dotfiles/shop.plist", fixture.file) == 0)
    let engine = try await fixture.open()
    #expect(try await engine.text("theirs") == "x")
    try await engine.put("ours", "1")
    var status = stat()
    #expect(stat(target, &status) == 0 && status.st_mode & 0o777 == 0o640)
    #expect(try fixture.run("defaults-set", "theirs", "y").lines() == ["done"])
    #expect(try await engine.text("theirs") == "y")
    try await engine.put("ours", "2")
    try await engine.close()
    #expect(kind(fixture.file) == S_IFLNK && kind(target) == S_IFREG)
    #expect(try fixture.texts() == ["theirs": "y", "ours": "2"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.outside("dotfiles")) == ["shop.plist"])
    let again = try await fixture.open()
    #expect(try await again.text("ours") == "2")
    #expect(try await again.recoveryReport().edited == 0)
    try await again.close()
  }

  enum Obstacle: String, CaseIterable, Sendable {
    case pipe, directory, loop, nowhere

    func make(_ path: String) -> Bool {
      switch self {
      case .pipe: mkfifo(path, 0o600) == 0
      case .directory: mkdir(path, 0o700) == 0
      case .loop: symlink(path, path) == 0
      case .nowhere: symlink(path + "-missing", path) == 0
      }
    }
  }

  /// The obstacle is not taken for an empty suite, and opening a pipe does not block.
  @Test(arguments: Obstacle.allCases) func somethingElseIsAnErrorAndNoEmptySuite(_ obstacle: Obstacle) async throws {
    let fixture = try PreferenceFixture()
    try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
    #expect(obstacle.make(fixture.file))
    let before = kind(fixture.file)
    let talk = try fixture.run("prefs-talk")
    #expect(try talk.line() == "ready")
    for question in ["read", "write", "read"] {
      talk.tell(question)
      let line = try #require(try talk.line())
      #expect(line.hasPrefix("\(question) notAStore") && line.contains(" away"), "\(line)")
    }
    talk.tell("away")
    #expect(try talk.line()?.hasPrefix("away ") == true)
    #expect(kind(fixture.file) == before)
    // Once it is moved away, the suite works without being opened again.
    #expect(rename(fixture.file, fixture.outside("away")) == 0)
    try expectWork(talk, fixture)
  }

  @Test(arguments: Obstacle.allCases) func somethingElseUnderAnOpenSuite(_ obstacle: Obstacle) async throws {
    let fixture = try PreferenceFixture()
    let talk = try fixture.run("prefs-talk")
    #expect(try talk.line() == "ready")
    try expectWork(talk, fixture)
    #expect(rename(fixture.file, fixture.outside("file")) == 0 && obstacle.make(fixture.file))
    let before = kind(fixture.file)
    talk.tell("away")
    #expect(try talk.line()?.hasPrefix("away ") == true)
    for question in ["read", "write", "read"] {
      talk.tell(question)
      let line = try #require(try talk.line())
      #expect(line.hasPrefix("\(question) notAStore"), "\(line)")
    }
    #expect(kind(fixture.file) == before)
    #expect(rename(fixture.file, fixture.outside("away")) == 0 && rename(fixture.outside("file"), fixture.file) == 0)
    talk.tell("available")
    #expect(try talk.line() == "available")
    talk.tell("read")
    #expect(try talk.line() == "theme light")
    #expect(try talk.line() == "read ok")
    try expectWork(talk, fixture)
  }

  /// Checks that the helper writes and reads the file. The helper first waits until the suite is available: an attempt
  /// to open it may have started before the obstacle was removed, and concurrent callers share its result.
  private func expectWork(_ talk: HelperProcess, _ fixture: PreferenceFixture) throws {
    for line in ["available", "write", "read"] { talk.tell(line) }
    let lines = try (0..<4).map { _ in try talk.line() ?? "" }
    #expect(lines == ["available", "write ok", "theme light", "read ok"])
    #expect(try fixture.texts() == ["theme": "light"])
    #expect(kind(fixture.file) == S_IFREG)
  }
}
