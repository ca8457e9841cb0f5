import CofferVault
import Foundation
import Testing

/// The behaviour of `FileManager.Path` that its specification tests.
@Suite struct FileManagerPathTests {
  typealias Path = FileManager.Path
  let directories: PrivateDirectories
  let manager = FileManager.default

  init() throws { directories = try PrivateDirectories() }

  private func custom(_ name: String) -> Path { .custom(directories.path(name)) }

  @Test func documentIsInDocuments() throws {
    let url = try directories.use { try Path.document("a/b.json").url() }
    #expect(url.path == directories.documents.path + "/a/b.json")
  }

  @Test func cacheIsInCaches() throws {
    let url = try directories.use { try Path.cache("b.json").url() }
    #expect(url.path == directories.caches.path + "/b.json")
  }

  @Test func applicationSupportIsInItsDirectory() throws {
    let url = try directories.use { try Path.applicationSupport("b.json").url() }
    #expect(url.path == directories.applicationSupport.path + "/b.json")
  }

  @Test func customAndURLAreAsGiven() throws {
    #expect(try custom("x y%20").url() == URL(fileURLWithPath: directories.path("x y%20")))
    let url = try #require(URL(string: "file:///tmp/x"))
    #expect(try Path.url(url).url() == url)
    let relative = URL(fileURLWithPath: "a%b#c?d/", relativeTo: directories.root.appendingPathComponent("base/"))
    try Path.url(relative).save(data: Data("a".utf8))
    #expect(try custom("base/a%b#c?d").read() == Data("a".utf8))
  }

  @Test(arguments: ["new", "several/levels/deep", "with space", "é", "e\u{301}"])
  func createsDirectories(name: String) throws {
    try custom(name).createDirectoryIfNeeded()
    #expect(try custom(name).isDirectory())
    for part in try directories.contents() { #expect(mode(directories.path(part)) == 0o700) }
  }

  @Test func anExistingDirectoryStaysAsItIs() throws {
    let file = custom("here/file")
    try file.save(data: Data("a".utf8))
    chmod(directories.path("here"), 0o755)
    try custom("here").createDirectoryIfNeeded()
    #expect(mode(directories.path("here")) == 0o755)
    #expect(try file.read() == Data("a".utf8))
  }

  @Test(arguments: ["file", "file/below"])
  func noDirectoryWhereAFileIs(name: String) throws {
    try custom("file").save(data: Data("a".utf8))
    #expect(throws: SwiftVaultError.couldNotCreateDirectory(path: directories.path(name), underlyingError: unavailable))
    {
      try custom(name).createDirectoryIfNeeded()
    }
    #expect(try custom("file").read() == Data("a".utf8))
  }

  @Test(arguments: [Data(), Data("hello".utf8), Data(count: 3_000_000), Data([0xFF, 0])])
  func readsWhatWasSaved(data: Data) throws {
    try custom("file").save(data: Data("before".utf8))
    try custom("file").save(data: data)
    #expect(try custom("file").read() == data)
    #expect(try directories.contents() == ["file"])
  }

  @Test func savingMakesTheDirectories() throws {
    try directories.use {
      try Path.applicationSupport("a/b/c").save(data: Data("a".utf8))
      #expect(try Path.applicationSupport("a/b/c").read() == Data("a".utf8))
    }
    #expect(mode(directories.path(".local/share/a/b")) == 0o700)
    #expect(mode(directories.path(".local")) == 0o700)
  }

  @Test func readingNothingThrows() throws {
    #expect(throws: SwiftVaultError.fileDoesNotExist(path: directories.path("none"))) { try custom("none").read() }
    try custom("file").save(data: Data())
    #expect(throws: SwiftVaultError.fileDoesNotExist(path: directories.path("file/x"))) { try custom("file/x").read() }
  }

  @Test func deletesFilesAndDirectories() throws {
    try custom("a/b/c").save(data: Data())
    try custom("a/d").save(data: Data())
    try custom("a/d").delete()
    #expect(try directories.contents() == ["a", "a/b", "a/b/c"])
    try custom("a").delete()
    #expect(try directories.contents() == [])
  }

  @Test func deletingNothingThrows() {
    #expect(throws: SwiftVaultError.fileDoesNotExist(path: directories.path("none"))) { try custom("none").delete() }
  }

  @Test(arguments: [
    "https://example.com/a", "file://server/share/a", "file:///tmp/a%00b", "file:///tmp/%ff", "mailto:a@b.c", "x",
  ])
  func otherURLsAreRefused(text: String) throws {
    let path = Path.url(try #require(URL(string: text)))
    let uses: [(Path) throws -> Void] = [
      { try $0.save(data: Data()) }, { _ = try $0.read() }, { try $0.delete() }, { _ = try $0.isDirectory() },
      { try $0.createDirectoryIfNeeded() },
    ]
    for use in uses {
      expectUnsupported { _ = try use(path) }
    }
    #expect(!manager.fileExists(at: try path.url()))
  }

  @Test func isDirectoryTellsFilesFromDirectories() throws {
    try custom("a/file").save(data: Data())
    #expect(try custom("a").isDirectory())
    #expect(try !custom("a/file").isDirectory())
    #expect(throws: SwiftVaultError.fileDoesNotExist(path: directories.path("none"))) {
      try custom("none").isDirectory()
    }
    #expect(manager.fileExists(at: try custom("a/file").url()))
    #expect(manager.fileExists(at: try custom("a").url()))
    #expect(!manager.fileExists(at: try custom("none").url()))
  }

  @Test func namesItsFileAndItsDirectory() throws {
    #expect(try custom("a/b.json").fileName() == "b.json")
    #expect(try custom("a/b.json").parentDirectoryURL().path == directories.path("a"))
    let cached = Path.cache("b.json")
    #expect(try directories.use { try cached.fileName() } == "b.json")
    #expect(try directories.use { try cached.parentDirectoryURL() }.path == directories.caches.path)
  }

  @Test func clearsTheApplicationsDirectories() throws {
    try directories.use(bundleIdentifier: "com.example.shop") {
      let own: [Path] = [
        .document("com.example.shop/a"), .cache("com.example.shop/a/b"), .applicationSupport("com.example.shop/a"),
      ]
      let others: [Path] = [.document("letter.txt"), .cache("fonts/a"), .applicationSupport("com.example.shop2/a")]
      for path in own + others { try path.save(data: Data("a".utf8)) }
      try manager.clearApplicationDirectories()
      for path in own { #expect(!manager.fileExists(at: try path.url())) }
      for path in others { #expect(try path.read() == Data("a".utf8)) }
      try manager.clearApplicationDirectories()  // clearing nothing is not an error
    }
  }
}
