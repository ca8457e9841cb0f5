import CofferFileSystem
import CofferFiles
import CofferVault
import Foundation
import Testing

/// Common defects of path handling: traversal, planted links, lost permissions, partial files.
@Suite struct PathDefectTests {
  typealias Path = FileManager.Path
  let directories: PrivateDirectories
  let manager = FileManager.default

  init() throws { directories = try PrivateDirectories() }

  private func custom(_ name: String) -> Path { .custom(directories.path(name)) }

  @Test(arguments: [
    "../x", "..", "a/../../x", "a/..", "./../x", "/etc/passwd", "//x", "", ".", "./", "/", "a\0b", "\0", "a/\0/../..",
    // A slash followed by a combining mark is one `Character` in Swift, and still a separator for the system.
    "../\u{338}x", "a/../..\u{2F}\u{301}x", "/\u{338}x",
  ])
  func namesDoNotLeaveTheirDirectory(name: String) throws {
    try directories.use {
      for path in [Path.document(name), .cache(name), .applicationSupport(name)] {
        let uses: [() throws -> Void] = [
          { _ = try path.url() }, { try path.save(data: Data()) }, { _ = try path.read() }, { try path.delete() },
          { try path.createDirectoryIfNeeded() }, { _ = try path.fileName() },
        ]
        for use in uses { #expect(throws: (any Error).self) { try use() } }
        expectUnsupported { _ = try path.url() }
      }
    }
    #expect(try directories.contents() == [])
  }

  @Test(arguments: [
    "..x", "a..", "...", "a/.b", "a//b", "%2e%2e/x", "..%2fx", "-rf", "a\\b",
  ])
  func harmlessNamesAreTaken(name: String) throws {
    try directories.use {
      try Path.cache(name).save(data: Data(name.utf8))
      #expect(try Path.cache(name).read() == Data(name.utf8))
      #expect(try Path.cache(name).url().path.hasPrefix(directories.caches.path + "/"))
      try Path.cache(name).delete()
    }
  }

  @Test(arguments: ["relative", "", "./x", "~/x", "/tmp/coffer\0/x"])
  func customPathsAreAbsolute(path: String) {
    expectUnsupported { _ = try Path.custom(path).save(data: Data()) }
  }

  @Test func newFilesAreForThisUserAloneAndOldOnesKeepTheirRights() throws {
    try custom("file").save(data: Data())
    #expect(mode(directories.path("file")) == 0o600)
    for rights in [0o644, 0o640, 0o400] as [mode_t] {
      chmod(directories.path("file"), rights)
      try custom("file").save(data: Data("b".utf8))
      #expect(mode(directories.path("file")) == rights)
    }
  }

  @Test func aPlantedLinkIsReplacedAndNotFollowed() throws {
    try custom("victim").save(data: Data("precious".utf8))
    symlink(directories.path("victim"), directories.path("link"))
    symlink(directories.path("made-by-link"), directories.path("dangling"))
    for name in ["link", "dangling"] {
      try custom(name).save(data: Data("new".utf8))
      #expect(try custom(name).read() == Data("new".utf8))
      #expect(mode(directories.path(name)) == 0o600)
    }
    #expect(try custom("victim").read() == Data("precious".utf8))
    #expect(!manager.fileExists(atPath: directories.path("made-by-link")))
  }

  @Test func deletingALinkKeepsWhatItLeadsTo() throws {
    try custom("folder/file").save(data: Data())
    symlink(directories.path("folder"), directories.path("link"))
    try custom("link").delete()
    #expect(try directories.contents() == ["folder", "folder/file"])
    symlink(directories.path("nowhere"), directories.path("link"))
    #expect(throws: SwiftVaultError.fileDoesNotExist(path: directories.path("link"))) { try custom("link").read() }
    try custom("link").delete()
    #expect(try directories.contents() == ["folder", "folder/file"])
  }

  @Test(.enabled(if: geteuid() == 0, "only root can create links that belong to other users"))
  func linksOfOtherUsersAreNotFollowed() throws {
    try custom("folder/file").save(data: Data("a".utf8))
    symlink(directories.path("folder"), directories.path("link"))
    try custom("link/file").save(data: Data("b".utf8))  // the user's own links are followed
    #expect(try custom("folder/file").read() == Data("b".utf8))
    lchown(directories.path("link"), 4_711, 4_711)
    for name in ["link/file", "link/new/file"] {
      #expect(throws: SwiftVaultError.self) { try custom(name).save(data: Data("c".utf8)) }
    }
    #expect(throws: SwiftVaultError.self) { try custom("link/new").createDirectoryIfNeeded() }
    #expect(try directories.contents() == ["folder", "folder/file", "link"])
    #expect(try custom("folder/file").read() == Data("b".utf8))
  }

  @Test(arguments: ["folder", "pipe"])
  func onlyFilesAreReplaced(name: String) throws {
    try custom("folder/file").save(data: Data())
    mkfifo(directories.path("pipe"), 0o600)
    let before = try directories.contents()
    #expect(throws: SwiftVaultError.couldNotSaveFile(path: directories.path(name), underlyingError: unavailable)) {
      try custom(name).save(data: Data("a".utf8))
    }
    #expect(try directories.contents() == before)
  }

  @Test func aFailedSaveLeavesNothingBehind() throws {
    try custom("file").save(data: Data("old".utf8))
    let tooLong = String(repeating: "x", count: 300)
    #expect(throws: SwiftVaultError.self) { try custom(tooLong).save(data: Data("new".utf8)) }
    #expect(throws: SwiftVaultError.self) { try Path.custom("/").save(data: Data()) }
    #expect(throws: SwiftVaultError.self) { try custom("a/..").save(data: Data()) }
    #expect(throws: SwiftVaultError.self) { try custom("file").createDirectoryIfNeeded() }
    #expect(try directories.contents().filter { $0 != "a" } == ["file"])
  }

  @Test func readersSeeOneOfTheValuesWhole() async throws {
    let file = custom("file")
    try file.save(data: Data(repeating: 0, count: 100_000))
    try await withThrowingTaskGroup { group in
      for writer in 1...2 {
        group.addTask {
          for _ in 0..<20 { try file.save(data: Data(repeating: UInt8(writer), count: 100_000 + writer)) }
        }
      }
      group.addTask {
        for _ in 0..<200 {
          let data = try file.read()
          #expect(data.allSatisfy { $0 == data.first })
          #expect(data.count == 100_000 + Int(data.first ?? 9))
        }
      }
      try await group.waitForAll()
    }
    #expect(try directories.contents() == ["file"])
  }

  @Test func aDirectoryCannotBeRead() throws {
    #expect(throws: SwiftVaultError.couldNotReadFile(path: directories.root.path, underlyingError: unavailable)) {
      try custom("").read()
    }
  }

  @Test func withoutABundleIdentifierDocumentsAreNotCleared() throws {
    try directories.use(processName: "shop") {
      for path in [Path.document("shop/a"), .cache("shop/a"), .applicationSupport("shop/a")] {
        try path.save(data: Data())
      }
      try manager.clearApplicationDirectories()
      #expect(manager.fileExists(at: try Path.document("shop/a").url()))
      #expect(!manager.fileExists(at: try Path.cache("shop").url()))
      #expect(!manager.fileExists(at: try Path.applicationSupport("shop").url()))
    }
  }

  @Test(arguments: ["", ".", "..", "../x", "a/b", "/", ".config", "a\0"])
  func anApplicationWithAStrangeNameClearsNothing(name: String) throws {
    try directories.use {
      for path in [Path.document("keep"), .cache("keep"), .applicationSupport("keep")] { try path.save(data: Data()) }
    }
    let before = try directories.contents()
    try directories.use(bundleIdentifier: name) {
      #expect(throws: SwiftVaultError.self) { try manager.clearApplicationDirectories() }
    }
    #expect(try directories.contents() == before)
  }

  @Test func clearingRemovesALinkItselfAndGoesOnAfterAFailure() throws {
    try directories.use(bundleIdentifier: "app") {
      try custom("elsewhere/file").save(data: Data())
      try Path.applicationSupport("other").save(data: Data())
      symlink(directories.path("elsewhere"), directories.applicationSupport.path + "/app")
      try manager.clearApplicationDirectories()
      #expect(manager.fileExists(atPath: directories.path("elsewhere/file")))
      #expect(try !manager.contentsOfDirectory(atPath: directories.applicationSupport.path).contains("app"))
    }
  }

  @Test func aUserWithoutHOMEGetsAClearError() {
    SystemDirectories.$current.withValue(SystemDirectories { _ in nil }) {
      #expect(throws: SwiftVaultError.couldNotLocateSystemDirectory(directoryName: "application support")) {
        try Path.applicationSupport("a").url()
      }
      #expect(throws: SwiftVaultError.couldNotLocateSystemDirectory(directoryName: "caches")) {
        try Path.cache("a").save(data: Data())
      }
    }
  }

  @Test func failuresNameTheirCause() throws {
    do {
      try custom(String(repeating: "x", count: 300)).save(data: Data())
      Issue.record("saved")
    } catch {
      #expect(error is SwiftVaultError)
      #expect((error as? SwiftVaultError)?.failureReason?.isEmpty == false)
      #expect((error as? SwiftVaultError)?.recoverySuggestion?.isEmpty == false)
    }
  }
}
