import Coffer
import CofferTestSupport
import Foundation
import Testing

/// Paths that cannot hold a store, and spellings of paths.
@Suite("Paths of stores") struct StorePathTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test(
    "A directory that cannot hold files is named",
    arguments: ["", "file:", "sealed:"].flatMap { kind in
      ["/proc/s", "/proc/new/s", "words/s", "locked/s"].map { kind + $0 }
    })
  func useless(_ store: String) async throws {
    #if os(Linux)
      let prepared = try await sandbox.bash("umask 077; printf sesame > words; mkdir locked; chmod 500 locked")
      try #require(prepared.status == 0)
      let user = store.contains("locked") ? unprivileged : ""
      let seal = store.hasPrefix("sealed:") ? "--passphrase-file words" : ""
      let again = try await sandbox.bash("printf 1 | \(user) coffer set a - --store \(store) \(seal)")
      #expect(again.status == 1, "\(again.errors)")
      let expected =
        store.contains("/proc")
        ? "/proc cannot hold a store: its file system accepts no new files."
        : store.contains("words") ? "There is a file where a directory should be: " : "may not create files in "
      #expect(again.errors.contains(expected), "\(again.errors)")
      #expect(again.errors.contains("hanged"), "\(again.errors)")
      #expect(store.contains("/proc") || again.errors.contains(sandbox.url.lastPathComponent), "\(again.errors)")
    #endif
  }

  @Test("doctor takes the path of a directory for the store of files that is there")
  func directory() async throws {
    try await sandbox.coffer("set", "a", "1", "--store", "file:shop")
    for spelling in ["shop", "shop/", "file:shop"] {
      let ended = try await sandbox.coffer("doctor", spelling)
      #expect(ended.status == 0 && ended.text.contains("1 key"), "\(ended.text)\(ended.errors)")
      #expect(ended.text.contains("file:"), "\(ended.text)")
    }
    try await sandbox.bash("mkdir empty")
    let empty = try await sandbox.coffer("doctor", "empty")
    #expect(empty.status == 1 && empty.text.contains("The path is a directory"), "\(empty.text)")
  }

  @Test("A ~ at the beginning of a path is a home directory, and no other is")
  func home() throws {
    let entry = try #require(getpwuid(getuid()))
    let home = String(cString: entry.pointee.pw_dir)
    for (text, path) in [("file:~/shop", "\(home)/shop"), ("file:/a/~/b", "/a/~/b")] {
      #expect(try StoreLocation(text).standardized == .files(directory: path))
    }
    #expect(try StoreLocation("~/a.db").standardized == .sqlite(path: "\(home)/a.db"))
    #expect(try StoreLocation("./~").standardized.description.hasSuffix("/~"))
  }
}
