import CofferTestSupport
import Foundation
import Testing

/// Tests of directories and databases of other programs, which no command uses unasked.
@Suite("Data of other programs", .serialized)
struct ForeignDataTests {
  private let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    try FileManager.default.createDirectory(atPath: sandbox.path("old"), withIntermediateDirectories: false)
    try sandbox.write(Data("\"John\"".utf8), to: "old/userName")
    try sandbox.write(Data("\"dark\"".utf8), to: "old/theme")
  }

  @Test(
    "Every command refuses them, and says what it found",
    arguments: [
      ("get", "theme"), ("ls", "--long"), ("info", "--json"), ("verify", "--null"), ("rm", "theme"),
      ("ls", "--read-only"),
    ])
  func refused(_ command: String, _ argument: String) async throws {
    let ended = try await sandbox.coffer(command, argument, "--store", "file:old")
    #expect(ended.status == 1)
    #expect(ended.errors.contains("2 files: 'theme', 'userName'. Their content is JSON text (2)."), "\(ended.errors)")
    #expect(ended.errors.contains("coffer import") && ended.errors.contains("--ignore-foreign"), "\(ended.errors)")
    #expect(!sandbox.exists("old/.coffer"))
    #expect(try sandbox.read("old/theme") == Data("\"dark\"".utf8))
  }

  @Test("--ignore-foreign uses the files as they are, and makes a store of them when it writes")
  func ignored() async throws {
    let read = try await sandbox.coffer("get", "theme", "--read-only", "--ignore-foreign", "--store", "file:old")
    #expect(read.text == "\"dark\"" && !sandbox.exists("old/.coffer"), "\(read.errors)")
    let ended = try await sandbox.coffer("get", "theme", "--ignore-foreign", "--store", "file:old")
    #expect(ended.text == "\"dark\"", "\(ended.errors)")
    #expect(try await sandbox.coffer("get", "theme", "--store", "file:old").text == "\"dark\"")
  }

  @Test("doctor reports what it recognized as a problem")
  func doctor() async throws {
    let ended = try await sandbox.coffer("doctor", "file:old")
    #expect(ended.status == 1)
    #expect(ended.text.contains("2 files: 'theme', 'userName'"), "\(ended.text)")
    #expect(ended.text.contains("coffer import"), "\(ended.text)")
  }

  @Test("audit and the commands for keys refuse them as well, and take --ignore-foreign")
  func auditAndKeys() async throws {
    let key = try sandbox.makeKey("app.key")
    for arguments in [["keys", "file:old"], ["encrypt", "file:old"], ["rotate", "file:old"]] {
      let refused = try await sandbox.coffer(arguments + ["--key-file", key])
      #expect(refused.status == 1 && refused.errors.contains("--ignore-foreign"), "\(arguments): \(refused.errors)")
      #expect(!sandbox.exists("old/.coffer"))
    }
    let encrypted = try await sandbox.coffer("encrypt", "file:old", "--key-file", key, "--ignore-foreign")
    #expect(encrypted.status == 0, "\(encrypted.errors)")
    let value = try await sandbox.coffer("get", "theme", "--store", "encrypted:file:old", "--key-file", key)
    #expect(value.text == "\"dark\"", "\(value.errors)")
  }
}
