import CofferCore
import CofferSlots
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Something else than a file where the property list should be.
@Suite(.blocking, .serialized) struct PreferencePlaceTests {
  private func kind(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0
  }

  /// As people make for files that they keep elsewhere.
  @Test func aLinkStaysALinkAndItsTargetIsReplaced() async throws {
    let home = try ConfigHome()
    let target = home.outside("dotfiles/shop.plist")
    for folder in [home.path, home.outside("dotfiles")] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    let list = try PropertyListSerialization.data(fromPropertyList: ["theirs": "x"], format: .xml, options: 0)
    try overwrite(target, list)
    #expect(chmod(target, 0o640) == 0)
    #expect(symlink("../dotfiles/shop.plist", home.file) == 0)
    let engine = try await home.open()
    #expect(try await engine.text("theirs") == "x")
    try await engine.put("ours", "1")
    var status = stat()
    #expect(stat(target, &status) == 0 && status.st_mode & 0o777 == 0o640)
    #expect(try home.run("defaults-set", "theirs", "y").lines() == ["done"])
    #expect(try await engine.text("theirs") == "y")
    try await engine.put("ours", "2")
    try await engine.close()
    #expect(kind(home.file) == S_IFLNK && kind(target) == S_IFREG)
    #expect(try home.texts() == ["theirs": "y", "ours": "2"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: home.outside("dotfiles")) == ["shop.plist"])
    let again = try await home.open()
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

  /// Neither takes it for an empty suite nor waits for somebody at the other end of the pipe.
  @Test(arguments: Obstacle.allCases) func somethingElseIsAnErrorAndNoEmptySuite(_ obstacle: Obstacle) async throws {
    let home = try ConfigHome()
    try FileManager.default.createDirectory(atPath: home.path, withIntermediateDirectories: true)
    #expect(obstacle.make(home.file))
    let before = kind(home.file)
    let talk = try home.run("prefs-talk")
    #expect(try talk.line() == "ready")
    for question in ["read", "write", "read"] {
      talk.tell(question)
      let line = try #require(try talk.line())
      #expect(line.hasPrefix("\(question) notAStore") && line.contains("Move it away"), "\(line)")
    }
    talk.tell("away")
    #expect(try talk.line()?.hasPrefix("away ") == true)
    #expect(kind(home.file) == before)
    // Moved away, all is well without opening anything again.
    #expect(rename(home.file, home.outside("away")) == 0)
    try expectWork(talk, home)
  }

  @Test(arguments: Obstacle.allCases) func somethingElseUnderAnOpenSuite(_ obstacle: Obstacle) async throws {
    let home = try ConfigHome()
    let talk = try home.run("prefs-talk")
    #expect(try talk.line() == "ready")
    try expectWork(talk, home)
    #expect(rename(home.file, home.outside("file")) == 0 && obstacle.make(home.file))
    let before = kind(home.file)
    talk.tell("away")
    #expect(try talk.line()?.hasPrefix("away ") == true)
    for question in ["read", "write", "read"] {
      talk.tell(question)
      let line = try #require(try talk.line())
      #expect(line.hasPrefix("\(question) notAStore"), "\(line)")
    }
    #expect(kind(home.file) == before)
    #expect(rename(home.file, home.outside("away")) == 0 && rename(home.outside("file"), home.file) == 0)
    talk.tell("available")
    #expect(try talk.line() == "available")
    talk.tell("read")
    #expect(try talk.line() == "theme light")
    #expect(try talk.line() == "read ok")
    try expectWork(talk, home)
  }

  /// Writes and reads, and is seen by others. First it waits until the adapter is told that it can: an attempt to open
  /// the suite may have been under way while the obstacle was still there, and who comes meanwhile shares its answer.
  private func expectWork(_ talk: HelperProcess, _ home: ConfigHome) throws {
    for line in ["available", "write", "read"] { talk.tell(line) }
    let lines = try (0..<4).map { _ in try talk.line() ?? "" }
    #expect(lines == ["available", "write ok", "theme light", "read ok"])
    #expect(try home.texts() == ["theme": "light"])
    #expect(kind(home.file) == S_IFREG)
  }
}
