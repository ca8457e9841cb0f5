import CofferCore
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFileSystem

/// What root creates in the directory of another user, who can replace it meanwhile.
@Suite struct FileCreationTests {
  /// The owner of the directory, which root gives away where it is another user.
  private static let user: uid_t = 65_534

  private func inForeignDirectory(_ body: (TemporaryDirectory, Int32) throws -> Void) throws {
    guard getuid() == 0 else { return print("Not checked: for want of root.") }
    let directory = try TemporaryDirectory()
    try #require(chown(directory.url.path, Self.user, Self.user) == 0)
    let descriptor = open(directory.url.path, O_RDONLY | O_DIRECTORY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try body(directory, descriptor)
  }

  private func status(_ path: String) -> stat {
    var status = stat()
    #expect(lstat(path, &status) == 0)
    return status
  }

  @Test func aNewDirectoryBelongsToTheOwnerOfItsParentAndKeepsInheritedBits() throws {
    try inForeignDirectory { directory, descriptor in
      #expect(fchmod(descriptor, 0o2755) == 0)
      #expect(FileCreation.makeDirectory("new", in: descriptor) == 0)
      let made = status(directory.path("new"))
      #expect(made.st_uid == Self.user && made.st_gid == Self.user && made.st_mode & 0o7777 == 0o2700)
      #expect(FileCreation.makeDirectory("new", in: descriptor) == -1 && errno == EEXIST)
    }
  }

  @Test func whatReplacedANewDirectoryKeepsItsOwnerAndMode() throws {
    try inForeignDirectory { directory, descriptor in
      let other = try TemporaryDirectory()
      #expect(mkdir(other.path("empty"), 0o500) == 0)
      #expect(mkdir(directory.path("theirs"), 0o500) == 0 && chown(directory.path("theirs"), Self.user, 1) == 0)
      #expect(mkdir(directory.path("full"), 0o500) == 0 && mkdir(directory.path("full/a"), 0o500) == 0)
      #expect(symlink(other.path("empty"), directory.path("link")) == 0)
      try Data().write(to: URL(filePath: directory.path("file")))
      let paths = ["theirs", "full", "file"].map { directory.path($0) } + [other.path("empty")]
      let before = paths.map { status($0) }
      for name in ["theirs", "full", "link", "file", "missing"] {
        #expect(FileCreation.completeNew(name, in: descriptor) == -1, "\(name)")
      }
      for (path, old) in zip(paths, before) {
        let now = status(path)
        #expect(now.st_uid == old.st_uid && now.st_gid == old.st_gid && now.st_mode == old.st_mode, "\(path)")
      }
    }
  }
}
