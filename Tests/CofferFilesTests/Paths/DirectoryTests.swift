import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTestSupport
import Foundation
import Testing

@Suite struct DirectoryTests {
  let root: TemporaryDirectory

  init() throws { root = try TemporaryDirectory() }

  private func use<R>(_ variables: [(name: String, value: String)], _ body: () throws -> R) rethrows -> R {
    let system = SystemDirectories { name in variables.first { $0.name == name }?.value }
    return try SystemDirectories.$current.withValue(system, operation: body)
  }

  private func code(_ body: () throws -> Void) -> StorageError.Code? {
    do { try body() } catch { return (error as? StorageError)?.code }
    return nil
  }

  // Requirement 4.27
  @Test func theEnvironmentSaysWhereDirectoriesAre() throws {
    let home = [(name: "HOME", value: "/h")]
    let own = [
      ("HOME", "/h"), ("XDG_CACHE_HOME", "/c"), ("XDG_DATA_HOME", "/d"), ("XDG_DOCUMENTS_DIR", "/o"),
    ].map { (name: $0.0, value: $0.1) }
    #expect(try use(home) { try FileDirectory.caches.url() }.path == "/h/.cache")
    #expect(try use(home) { try SystemDirectories.current.url(for: .applicationSupport) }.path == "/h/.local/share")
    #expect(try use(own) { try FileDirectory.caches.url() }.path == "/c")
    #expect(try use(own) { try FileDirectory.documents.url() }.path == "/o")
    #expect(try use(own) { try SystemDirectories.current.url(for: .applicationSupport) }.path == "/d")
    // Relative paths are invalid according to the XDG specification.
    let relative = home + [(name: "XDG_CACHE_HOME", value: "c"), (name: "XDG_DATA_HOME", value: "")]
    #expect(try use(relative) { try FileDirectory.caches.url() }.path == "/h/.cache")
    #expect(code { _ = try use([]) { try FileDirectory.caches.url() } } == .unavailable)
    #expect(try FileDirectory.documents.url().path.hasPrefix("/"))
  }

  /// A program in a container, a service or a test has a HOME other than that of the account.
  @Test func documentsFollowTheEnvironment() throws {
    let home = [(name: "HOME", value: root.path("h"))]
    func documents(_ more: [(name: String, value: String)] = []) throws -> String {
      try use(home + more) { try FileDirectory.documents.url().path }
    }
    #expect(try documents() == root.path("h/Documents"))
    for (folder, variables) in [("h/.config", []), ("c", [(name: "XDG_CONFIG_HOME", value: root.path("c"))])] {
      try FileManager.default.createDirectory(
        at: root.url.appendingPathComponent(folder), withIntermediateDirectories: true)
      for (line, path) in [
        ("\"$HOME/Meine Dokumente\"", root.path("h/Meine Dokumente")), ("\"/srv/a\\\"b\"", "/srv/a\"b"),
        ("\"relative\"", root.path("h/Documents")), ("$HOME/x", root.path("h/Documents")),
        ("\"/first\"\nXDG_DOCUMENTS_DIR=\"/last\"", "/last"),
      ] {
        let text = "# Written by xdg-user-dirs-update\nXDG_MUSIC_DIR=\"/m\"\nXDG_DOCUMENTS_DIR=\(line)\n"
        try Data(text.utf8).write(to: root.url.appendingPathComponent(folder + "/user-dirs.dirs"))
        #expect(try documents(variables) == path, "\(line)")
      }
    }
    // A relative HOME is none.
    #expect(try use([(name: "HOME", value: "h")]) { try FileDirectory.documents.url() }.path.hasPrefix("/"))
  }

  // Requirement 4.27
  @Test func customDirectoriesAreFileURLs() throws {
    #expect(try FileDirectory.custom(root.url).url() == root.url)
    let web = try #require(URL(string: "https://example.com/a"))
    #expect(code { _ = try FileDirectory.custom(web).url() } == .unsupported)
  }

  private func container(_ identifier: String) throws -> URL {
    try use([(name: "XDG_DATA_HOME", value: root.path("data"))]) { try StoreAppGroup.container(identifier) }
  }

  @Test(arguments: ["group.com.example.shop", "a", "A_b-9.", "-", String(repeating: "x", count: 128)])
  func aGroupHasAContainerForThisUserAlone(identifier: String) throws {
    let url = try container(identifier)
    #expect(url.path == root.path("data/\(identifier)"))
    #expect(try container(identifier) == url)
    var status = stat()
    for path in [url.path, root.path("data")] {
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode == S_IFDIR | 0o700)
    }
  }

  @Test(arguments: [
    "", ".", "..", "../x", ".hidden", "a/b", "/", "a b", "é", "a\0", "a\n", "a:b", "~", "a\u{301}", "ａ",
    String(repeating: "x", count: 129),
  ])
  func strangeIdentifiersAreRefused(identifier: String) throws {
    #expect(code { _ = try container(identifier) } == .unsupported)
    #expect(!FileManager.default.fileExists(atPath: root.path("data")))
  }

  @Test func whatOthersMayControlIsNoContainer() throws {
    _ = try container("other")
    symlink(root.path("data/other"), root.path("data/link"))
    #expect(code { _ = try container("link") } == .permissionDenied)
    symlink(root.path("nowhere"), root.path("data/dangling"))
    #expect(code { _ = try container("dangling") } != nil)
    #expect(!FileManager.default.fileExists(atPath: root.path("nowhere")))
    try Data().write(to: root.url.appendingPathComponent("data/file"))
    #expect(code { _ = try container("file") } == .inputOutput)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can create directories of other users"))
  func aContainerOfAnotherUserIsRefused() throws {
    let url = try container("group")
    chown(url.path, 4_711, 4_711)
    #expect(code { _ = try container("group") } == .permissionDenied)
  }
}

@Suite struct OpenDirectoryTests {
  let root: TemporaryDirectory

  init() throws { root = try TemporaryDirectory() }

  @Test func writesIntoTheDirectoryThatWasOpened() throws {
    try OpenDirectory.make(root.path("a"))
    let directory = try OpenDirectory(root.path("a"))
    rename(root.path("a"), root.path("b"))
    try OpenDirectory.make(root.path("elsewhere"))
    symlink(root.path("elsewhere"), root.path("a"))
    try directory.replace("file", with: Data("x".utf8))
    #expect(try Data(contentsOf: root.url.appendingPathComponent("b/file")) == Data("x".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: root.path("elsewhere")) == [])
  }

  @Test(arguments: ["", ".", "..", "a/b", "/", "../x", "a\0b", "/\u{338}"])
  func takesOnlyNames(name: String) throws {
    try OpenDirectory.make(root.path("a"))
    let directory = try OpenDirectory(root.path("a"))
    do throws(StorageError) {
      try directory.replace(name, with: Data())
      Issue.record("written")
    } catch {
      #expect(error.code == .inputOutput)
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: root.url.path) == ["a"])
  }

  @Test func splitsPathsByBytes() {
    #expect(PathParts("/a/b").names == ["a", "b"])
    #expect(PathParts("/a/b").parent == "/a")
    #expect(PathParts("/a//b/").parent == "/a")
    #expect(PathParts("/a").parent == "/")
    #expect(PathParts("/").parent == "/")
    #expect(PathParts("/").last == "")
    #expect(PathParts("a/b").parent == "a")
    #expect(PathParts("a").parent == ".")
    #expect(PathParts("a/\u{338}b").names == ["a", "\u{338}b"])
    #expect(PathParts("/\u{338}b").isAbsolute)
  }
}
