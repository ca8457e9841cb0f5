import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Missing permissions. The helper drops root privileges first, if it has them.
@Suite(.blocking, .serialized) struct PermissionTests {
  private func chmodAll(_ directory: StoreDirectory, directories: mode_t, files: mode_t) throws {
    let parent = URL(fileURLWithPath: directory.outside("x")).deletingLastPathComponent().path
    chmod(parent, 0o755)
    for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path).map({ directory.path + "/" + $0 }) {
      var status = stat()
      lstat(path, &status)
      chmod(path, status.st_mode & S_IFMT == S_IFDIR ? directories : files)
      if getuid() == 0, files & 0o200 != 0 { chown(path, 65_534, 65_534) }
    }
    if getuid() == 0, files & 0o200 != 0 { chown(directory.path, 65_534, 65_534) }
    chmod(directory.path, directories)
  }

  private func expectRefusal(_ directory: StoreDirectory) throws {
    let lines = try directory.run("files-as-nobody").lines()
    #expect(lines.count == 1 && lines[0].hasPrefix("open permissionDenied"), "\(lines)")
    #expect(lines.first?.contains("Give this user") == true, "\(lines)")
  }

  @Test func aReadOnlyDirectoryIsReadAndOneWithoutAStoreIsRefused() async throws {
    let empty = try StoreDirectory()
    try FileManager.default.createDirectory(at: empty.url, withIntermediateDirectories: true)
    try chmodAll(empty, directories: 0o555, files: 0o444)
    try expectRefusal(empty)
    let filled = try await StoreDirectory.filled()
    try chmodAll(filled, directories: 0o555, files: 0o444)
    let lines = try filled.run("files-as-nobody").lines()
    try #require(lines.count == 4, "\(lines)")
    #expect(lines[0] == "open ok" && lines[1] == "theme there" && lines[2] == "entry ok", "\(lines)")
    #expect(lines[3].hasPrefix("commit readOnly") && lines[3].contains("open for reading only"), "\(lines)")
    #expect(try filled.contents().count == FileScenario.before.count)
  }

  @Test func aDirectoryThatOthersMayNotEnterIsRefused() async throws {
    let directory = try await StoreDirectory.filled()
    try chmodAll(directory, directories: 0o000, files: 0o000)
    try expectRefusal(directory)
  }

  /// A file that this user cannot read exists and is never reported as absent.
  @Test func anUnreadableFileIsUnavailableNotAbsent() async throws {
    let directory = try await StoreDirectory.filled()
    try chmodAll(directory, directories: 0o700, files: 0o600)
    chmod(try directory.file("theme"), 0o000)
    let lines = try directory.run("files-as-nobody").lines()
    try #require(lines.count == 3, "\(lines)")
    #expect(lines[0] == "open ok")
    #expect(lines[1].hasPrefix("entry permissionDenied") && lines[1].contains("theme"), "\(lines)")
    // It can be replaced nevertheless, as in any directory that the user can write.
    #expect(lines[2] == "commit ok", "\(lines)")
    #expect(try directory.contents()["theme"] == Data("single".utf8))
  }

  @Test func nothingIsRemovedFromADirectoryThatBecameReadOnly() async throws {
    let directory = try await StoreDirectory.filled()
    try chmodAll(directory, directories: 0o700, files: 0o600)
    chmod(directory.path, 0o500)
    let lines = try directory.run("files-as-nobody", "delete").lines()
    chmod(directory.path, 0o700)
    try #require(lines.count == 6, "\(lines)")
    #expect(lines[3].hasPrefix("commit permissionDenied") && !lines[3].contains("is stored"), "\(lines)")
    #expect(lines[4] == "theme there" && lines[5] == "entry ok", "\(lines)")
    #expect(try directory.contents()["theme"] == Data("old theme".utf8))
  }

  /// The control directory is writable and the directory of the values is not: no commit is left half done.
  @Test func aDirectoryThatBecomesReadOnlyKeepsWhatWasCommitted() async throws {
    let directory = try await StoreDirectory.filled()
    try chmodAll(directory, directories: 0o700, files: 0o600)
    chmod(directory.path, 0o500)
    let lines = try directory.run("files-as-nobody").lines()
    try #require(lines.count == 4, "\(lines)")
    #expect(lines[2] == "entry ok")
    #expect(lines[3].hasPrefix("commit permissionDenied"), "\(lines)")
    chmod(directory.path, 0o700)
    var aftermath = Aftermath(directory: directory, comment: "\(lines)")
    aftermath.after = FileScenario.singleAfter
    _ = try await aftermath.check(mustBeNew: lines[3].contains("is stored"))
  }
}
