import Coffer
import CofferTestSupport
import Foundation
import Testing

@Suite("A store of files", .serialized)
struct FileStoreTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A value is a file with exactly its bytes, and an edited file is the value")
  func plainFiles() async throws {
    #expect(try await sandbox.coffer("set", "theme", "dark", "--store", "file:settings").status == 0)
    #expect(try sandbox.read("settings/theme") == Data("dark".utf8))
    try sandbox.write(Data("light".utf8), to: "settings/theme")
    try sandbox.write(Data("{}".utf8), to: "settings/window+size")
    #expect(try await sandbox.coffer("get", "theme", "--store", "file:settings/").output == Data("light".utf8))
    #expect(try await sandbox.coffer("ls", "--store", "file:settings").lines == ["theme", "windowSize"])
    #expect(try await sandbox.coffer("rm", "theme", "--store", "file:settings").status == 0)
    #expect(!sandbox.exists("settings/theme"))
    let info = try await sandbox.coffer("info", "--json", "--store", "file:settings").json()
    #expect(info["keys"] as? Int == 1)
  }

  @Test("info shows the number of values retained for open snapshots")
  func kept() async throws {
    #expect(try await sandbox.coffer("set", "theme", "dark", "--store", "file:settings").status == 0)
    let lock = open(sandbox.path("settings/.coffer/owners"), O_RDONLY | O_DIRECTORY)
    defer { close(lock) }
    try #require(flock(lock, LOCK_SH) == 0)
    try sandbox.write(Data("old".utf8), to: "settings/.coffer/retained/00000000000000010000000000000002")
    let info = try await sandbox.coffer("info", "--json", "--store", "file:settings").json()
    #expect(info["retained"] as? Int == 1)
    let text = try await sandbox.coffer("info", "--store", "file:settings").text
    #expect(text.contains("Kept      1 replaced value for open snapshots"), "\(text)")
  }

  @Test("Copying there and back changes nothing")
  func copies() async throws {
    try await sandbox.fill(count: 200)
    try await sandbox.coffer("set", "../Größe", "x")
    #expect(try await sandbox.coffer("cp", sandbox.storePath, "file:files").status == 0)
    #expect(try await sandbox.coffer("cp", "file:files", "sqlite:back.db").status == 0)
    let (before, after) = (
      try await sandbox.coffer("ls", "-0").output, try await sandbox.coffer("ls", "-0", "--store", "back.db").output
    )
    #expect(before == after && !before.isEmpty)
    #expect(try sandbox.read("files/%2e.%2f+gr%c3%b6%c3%9fe") == Data("x".utf8))
    let again = try await sandbox.coffer("cp", "file:files", "sqlite:back.db")
    #expect(again.errors.contains("201 unchanged"), "\(again.errors)")
    let same = try await sandbox.coffer("cp", "file:files", "file:./files/")
    #expect(same.status == 2, "\(same.errors)")
  }

  @Test("A deleted journal is rebuilt from the files, which is reported")
  func rebuilds() async throws {
    for key in ["a", "b", "c"] { try await sandbox.coffer("set", key, key, "--store", "file:files") }
    try FileManager.default.removeItem(atPath: sandbox.path("files/.coffer/journal.db"))
    let ended = try await sandbox.coffer("ls", "--store", "file:files")
    #expect(ended.lines == ["a", "b", "c"] && ended.status == 0)
    #expect(ended.errors.contains("had no journal: it was rebuilt from 3 values"), "\(ended.errors)")
    #expect(try await sandbox.coffer("ls", "--store", "file:files").errors.isEmpty)
  }
}
