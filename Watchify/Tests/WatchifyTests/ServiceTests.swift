import CofferTerminal
import CofferTesting
import Foundation
import Testing

@testable import Watchify

@Suite("service", .serialized)
struct ServiceTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private var files: UnitFiles { UnitFiles(folder: sandbox.url.appendingPathComponent("units")) }

  @Test("Words of a unit are quoted as systemd parses them")
  func quoting() {
    #expect(ServiceUnit.quoted("/usr/bin/watchify", isCommand: true) == "/usr/bin/watchify")
    #expect(ServiceUnit.quoted("/a b/50%$HOME", isCommand: true) == #""/a b/50%%$$HOME""#)
    #expect(ServiceUnit.quoted("/a b/50%$HOME", isCommand: false) == #""/a b/50%%$HOME""#)
    #expect(ServiceUnit.quoted(#"/a"b\c"#, isCommand: true) == #""/a\"b\\c""#)
    #expect(ServiceUnit.quoted("/ä;", isCommand: true) == "\"/ä;\"")
  }

  @Test("The data folder is the only writable one; a private /tmp does not hide it")
  func text() {
    let text = ServiceUnit.service(program: "/usr/bin/watchify", data: "/srv/a b/watch.db").text
    #expect(text.contains("\nExecStart=/usr/bin/watchify serve --port 8737 --data \"/srv/a b/watch.db\"\n"), "\(text)")
    #expect(text.contains("\nReadWritePaths=\"/srv/a b\"\n") && text.contains("\nPrivateTmp=yes\n"))
    let temporary = ServiceUnit.service(program: "/usr/bin/watchify", data: "/tmp/a/watch.db").text
    #expect(!temporary.contains("PrivateTmp"))
    let open = ServiceUnit.service(program: "/usr/bin/watchify", data: "/a/b", isolation: .withoutNamespaces).text
    #expect(!open.contains("ProtectSystem") && open.contains("NoNewPrivileges=yes"))
    #expect(ServiceUnit.socket().text.contains("\nListenStream=127.0.0.1:8737\n"))
  }

  @Test("An edited unit, a foreign one and a link are kept unless forced")
  func edited() throws {
    let unit = ServiceUnit.service(program: "/usr/bin/watchify", data: "/a/b")
    try files.install(unit, as: .service, isForced: false)
    #expect(files.origin(.service) == .written && files.isEnabled(.service))
    try files.install(unit, as: .service, isForced: false)
    let path = files.path(.service)
    let target = sandbox.path("mine")
    try "mine".write(toFile: target, atomically: true, encoding: .utf8)
    for (change, origin) in [("edit", ServiceUnit.Origin.edited), ("foreign", .foreign), ("link", .foreign)] {
      switch change {
      case "edit": try (unit.text + "Nice=1\n").write(toFile: path, atomically: true, encoding: .utf8)
      case "foreign": try "[Service]\n".write(toFile: path, atomically: true, encoding: .utf8)
      default:
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
      }
      #expect(files.origin(.service) == origin)
      let before = FileManager.default.contents(atPath: path)
      #expect(throws: CommandError.self) { try files.install(unit, as: .service, isForced: false) }
      #expect(throws: CommandError.self) {
        try files.check(.service, false, action: "removed", command: "remove")
      }
      #expect(FileManager.default.contents(atPath: path) == before)
      try files.install(unit, as: .service, isForced: true)
      #expect(files.origin(.service) == .written)
    }
    #expect(try String(contentsOfFile: target, encoding: .utf8) == "mine")
    #expect(try files.remove(.service))
    #expect(!files.isEnabled(.service) && files.origin(.service) == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.folder.path).isEmpty)
  }

  @Test("A program that may vanish or be replaced is reported")
  func program() throws {
    #expect(ServiceProgram(path: "/usr/bin/watchify").objection == nil)
    #expect(ServiceProgram(path: "/srv/a/.build/debug/watchify").objection?.contains("build folder") == true)
    #expect(ServiceProgram(path: "/tmp/watchify").objection?.contains("temporary") == true)
  }

  @Test("Without systemd nothing is installed, and status says so")
  func nowhere() async throws {
    let variables = [("PATH", sandbox.path("nothing")), ("XDG_CONFIG_HOME", sandbox.path("config"))]
    let status = try await sandbox.startWatchify(["service", "status"], with: variables).ended()
    #expect(status.status == 1 && status.text.contains("This system has no systemd"), "\(status.text)")
    let install = try await sandbox.startWatchify(["service", "install"], with: variables).ended()
    #expect(install.status == 1 && install.errors.contains("no systemd, so no service was installed"))
    #expect(!FileManager.default.fileExists(atPath: sandbox.path("config")))
    #expect(try await sandbox.watchify("service", "start").status == 2)
  }
}
