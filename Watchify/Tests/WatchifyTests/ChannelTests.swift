import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import Watchify

@Suite("notify add, list, remove, test; feed", .serialized)
struct ChannelTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Stores the passphrase of the sealed file, in place of a keyring.
  private func usePassphrase() async throws {
    let file = sandbox.path("passphrase")
    try Data("correct horse battery\n".utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let ended = try await sandbox.watchify("settings", "secretsPassphraseFile", file)
    #expect(ended.status == 0, "\(ended.errors)")
  }

  @Test("A channel is added, listed, examined and removed; its secret is in no output and no file but the sealed one")
  func lifecycle() async throws {
    try await usePassphrase()
    let address = "https://discord.invalid/api/webhooks/1/t0ps3cret"
    let added = try await sandbox.bash("printf '%s\\n' '\(address)' | watchify notify add chat --shape discord")
    #expect(added.status == 0 && added.text.contains("Added chat: discord at discord.invalid"), "\(added.errors)")
    let list = try await sandbox.watchify("notify", "list", "--json")
    let channel = try #require((try list.json()["channels"] as? [NSDictionary])?.first)
    #expect(channel["name"] as? String == "chat" && channel["host"] as? String == "discord.invalid")
    let test = try await sandbox.watchify("notify", "test", "chat")
    #expect(test.status == 1 && test.errors.contains("chat:"), "\(test.errors)")
    let doctor = try await sandbox.watchify("doctor")
    #expect(doctor.text.contains("discord at discord.invalid") && doctor.text.contains("secrets"))
    #expect(doctor.text.contains("desktop") && !doctor.text.contains("PROBLEM  desktop"), "\(doctor.text)")
    #expect(doctor.text.contains("not available; news goes to chat"), "\(doctor.text)")
    #expect(try await sandbox.watchify("list").text.isEmpty == false)
    for ended in [added, list, test, doctor] { #expect(!(ended.text + ended.errors).contains("t0ps3cret")) }
    let files = try FileManager.default.subpathsOfDirectory(atPath: sandbox.url.path)
    #expect(files.contains { $0.hasSuffix("watchify.db.sealed") }, "\(files)")
    for file in files {
      guard let data = try? sandbox.read(file) else { continue }
      #expect(data.range(of: Data("t0ps3cret".utf8)) == nil, "\(file)")
    }
    let removed = try await sandbox.watchify("notify", "remove", "chat")
    #expect(removed.status == 0, "\(removed.errors)")
    #expect(try await sandbox.watchify("notify", "remove", "chat").status == 3)
    #expect(try await sandbox.watchify("notify", "list").text.contains("No channel was added"))
  }

  @Test("Arguments that may contain secrets, private addresses and wrong names are refused, and change nothing")
  func refusals() async throws {
    try await usePassphrase()
    let cases: [([String], String)] = [
      (["notify", "add", "a", "https://discord.com/api/webhooks/1/x", "--shape", "discord"], "standard input"),
      (["notify", "add", "a", "https://example.org/hook?token=x"], "standard input"),
      (["notify", "add", "a", "https://u:p@example.org/hook"], "standard input"),
      (["notify", "add", "a", "https://127.0.0.1:9/hook"], "--allow-private"),
      (["notify", "add", "a", "http://example.org/hook"], "https://"),
      (["notify", "add", "desktop", "https://example.org/hook"], "NAME"),
      (["notify", "add", "a", "https://gotify.example.org", "--shape", "gotify"], "--secret-from"),
      (["notify", "add", "a", "smtp://mail.example.org", "--shape", "email"], "--from"),
      (["notify", "add", "a", "https://example.org", "--shape", "pigeon"], "--shape"),
      (["notify", "add", "a", "https://example.org/x", "--daily", "25:00"], "--daily"),
      (["notify", "add"], "NAME"), (["notify"], "ACTION"), (["notify", "x"], "add, list, remove or test"),
    ]
    for (arguments, words) in cases {
      let line = arguments.map { "'\($0)'" }.joined(separator: " ")
      let ended = try await sandbox.bash("watchify \(line) < /dev/null")
      #expect(ended.status == 2 && ended.errors.contains(words), "\(line): \(ended.status) \(ended.errors)")
    }
    #expect(try await sandbox.watchify("notify", "list").text.contains("No channel was added"))
  }

  @Test("A file of a passphrase, token, secret or private key that other users can read is refused")
  func exposedFiles() async throws {
    try await usePassphrase()
    try Data("0123456789abcdef0123456789abcdef\n".utf8).write(to: URL(fileURLWithPath: sandbox.path("exposed")))
    let add = "watchify notify add a https://gotify.example.org --shape gotify --secret-from"
    for (line, name) in [
      ("\(add) exposed", "secret"), ("watchify serve --port 0 --token-file exposed", "access token"),
      ("watchify serve --port 0 --certificate exposed --key exposed", "private key"),
      ("\(add) private", "passphrase"),
    ] {
      let ended = try await sandbox.bash(
        "(umask 77; cat exposed > private); \(name == "passphrase" ? "chmod 644 passphrase; " : "")chmod 644 exposed; "
          + line)
      let words = ended.errors.replacing("\n", with: " ")
      #expect(ended.status == 1 && words.contains("No \(name) could be read from the file"), "\(words)")
      #expect(words.contains("(mode 644)") && words.contains("chmod 600") && !words.contains("cdef"), "\(words)")
    }
    #expect(try await sandbox.watchify("notify", "list").text.contains("No channel was added"))
  }

  @Test("Without a keyring and a passphrase, adding fails with what to do, and adds nothing")
  func noPassphrase() async throws {
    let ended = try await sandbox.watchify("notify", "add", "a", "https://example.org/hook")
    #expect(ended.status == 1 && ended.errors.contains("secretsPassphraseFile"), "\(ended.errors)")
    #expect(try await sandbox.watchify("notify", "list").text.contains("No channel was added"))
  }

  @Test("A process killed between delivery and its record: news is sent twice at most, and then counted")
  func killed() async throws {
    try await usePassphrase()
    try await sandbox.follow()
    // A webhook that takes messages and never answers.
    let script = """
      import socket
      listener = socket.create_server(("127.0.0.1", 0))
      open("port.new", "w").write(str(listener.getsockname()[1]))
      import os; os.rename("port.new", "port")
      kept = []
      while True:
          connection, _ = listener.accept()
          kept.append(connection)
          data = b""
          while b"\\r\\n\\r\\n" not in data or not data.endswith(b"}"): data += connection.recv(65536)
          open("hooks", "ab").write(data.split(b"\\r\\n\\r\\n")[1] + b"\\n")
      """
    try Data(script.utf8).write(to: sandbox.url.appendingPathComponent("hook.py"))
    let server = Process()
    server.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    server.arguments = ["python3", "hook.py"]
    server.currentDirectoryURL = sandbox.url
    try server.runUnblocked()
    defer { kill(server.processIdentifier, SIGKILL) }
    try await eventually("the webhook listens") { FileManager.default.fileExists(atPath: sandbox.path("port")) }
    let port = String(decoding: try sandbox.read("port"), as: UTF8.self)
    let added = try await sandbox.watchify("notify", "add", "hook", "http://127.0.0.1:\(port)/", "--allow-private")
    try #require(added.status == 0, "\(added.errors)")
    try sandbox.shop.advance()
    func hooks() -> [Substring] {
      String(decoding: (try? sandbox.read("hooks")) ?? Data(), as: UTF8.self).split(separator: "\n")
    }
    for round in 1...3 {
      try await sandbox.forgetAttempts()
      let running = try sandbox.startWatchify("sync")
      try await eventually("message \(round) arrives") { hooks().count == round }
      running.signal(SIGKILL)
      _ = try await running.ended()
      try await sandbox.sql("UPDATE outbox SET claimed_at = 0 WHERE claimed_at IS NOT NULL")
      try await sandbox.sql("UPDATE channel_states SET missed_claimed_at = 0 WHERE missed_claimed_at IS NOT NULL")
    }
    let kinds = hooks().map { $0.contains("\"kind\":\"news\"") ? "news" : "missed" }
    #expect(kinds == ["news", "news", "missed"], "\(hooks())")
    let list = try await sandbox.watchify("notify", "list", "--json").json()
    #expect(((list["channels"] as? [NSDictionary])?.first?["missed"] as? Int ?? 0) > 0, "it is not lost")
  }

  @Test("The feed is XML, with the filters of activity")
  func feed() async throws {
    try await sandbox.followWithNews()
    let all = try await sandbox.watchify("feed")
    #expect(all.status == 0 && all.text.hasPrefix("<?xml") && all.text.contains("<entry>"))
    let none = try await sandbox.watchify("feed", "--type", "outOfStock")
    #expect(none.status == 0 && !none.text.contains("<entry>"))
  }
}
