import CofferCore
import CofferTesting
import Foundation
import FoundationNetworking
import ReplayShop
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import Watchify

@Suite("serve", .serialized)
struct ServeTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Returns the value of an attribute after a mark in a text.
  private func value(after mark: String, in text: String) -> String? {
    text.range(of: mark).map { String(text[$0.upperBound...].prefix { $0 != "\"" }) }
  }

  private func request(_ url: URL, _ path: String, form: String? = nil) async throws -> (status: Int, text: String) {
    var request = URLRequest(url: try #require(URL(string: path, relativeTo: url)))
    if let form {
      request.httpMethod = "POST"
      request.httpBody = Data(form.utf8)
      request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    }
    let (data, response) = try await URLSession.shared.data(for: request)
    return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
  }

  /// Starts `watchify serve` and returns the address of its page.
  private func serve() async throws -> (program: RunningProgram, url: URL) {
    let program = try sandbox.startWatchify("serve", "--port", "0", "--json")
    var url: URL?
    try await eventually("the page is served") {
      let lines = try program.output().split(whereSeparator: \.isNewline)
      let objects = lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? NSDictionary }
      url = objects.lazy.compactMap { $0["url"] as? String }.first.flatMap { URL(string: $0) }
      return url != nil
    }
    return (program, try #require(url))
  }

  @Test("The page shows and tests the channels that were added, also beside a watch", arguments: [false, true])
  func channels(isBeside: Bool) async throws {
    try await sandbox.follow()
    let passphrase = sandbox.path("passphrase")
    try Data("correct horse battery\n".utf8).write(to: URL(fileURLWithPath: passphrase))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passphrase)
    try await sandbox.watchify("settings", "secretsPassphraseFile", passphrase)
    let received = Locked<[String]>([])
    let hook = HTTPServer { request in
      received.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
      return HTTPResponse(204)
    }
    let port = try hook.start()
    defer { hook.terminate() }
    let added = try await sandbox.watchify("notify", "add", "hook", "http://127.0.0.1:\(port)/", "--allow-private")
    try #require(added.status == 0, "\(added.errors)")
    let watch = isBeside ? try sandbox.startWatchify("watch") : nil
    defer { watch?.signal(SIGKILL) }
    if let watch { try await eventually("the watch runs") { try watch.output().contains("Watching 1 store") } }
    let (program, url) = try await serve()
    defer { program.signal(SIGKILL) }
    let doctor = try await sandbox.watchify("doctor")
    let ways = isBeside ? "hook" : "hook, the page"
    #expect(doctor.text.contains("not available; news goes to \(ways)\n"), "\(doctor.text)")
    let health = try await request(url, "/health")
    #expect(health.text.contains("hook: ok") && health.text.contains("json at 127.0.0.1:\(port)"))
    #expect(health.text.contains("· hook ok"), "the line at the top of each page")
    #expect(health.text.contains("desktop: not available"), "no problem, as for the doctor")
    let token = try #require(value(after: "name=\"csrf\" value=\"", in: health.text))
    let test = try await request(url, "/notify", form: "csrf=\(token)")
    #expect(test.status == 200 && test.text.contains("hook: accepted"), "\(test.text)")
    #expect(received.withLock { $0.count { $0.contains("\"kind\":\"test\"") } } == 1)
    // News that a read from the page finds is delivered by the same process.
    try sandbox.shop.advance()
    try await sandbox.forgetAttempts()
    #expect(try await request(url, "/read", form: "csrf=\(token)").status == 200)
    try await eventually("the news is delivered") {
      received.withLock { $0.contains { $0.contains("\"kind\":\"news\"") } }
    }
    hook.terminate()
    let failed = try await request(url, "/notify", form: "csrf=\(token)")
    #expect(failed.text.contains("hook: ") && !failed.text.contains("hook: accepted"))
    program.signal(SIGTERM)
    #expect(try await program.ended().status == 0)
  }

  @Test("While the page is served, a missing desktop is no problem and its news does not wait for it")
  func pageInsteadOfDesktop() async throws {
    try await sandbox.followWithNews()
    #expect(try await sandbox.watchify("doctor").text.contains("PROBLEM  desktop"))
    let (program, _) = try await serve()
    defer { program.signal(SIGKILL) }
    let doctor = try await sandbox.watchify("doctor")
    #expect(doctor.status == 0 && doctor.text.contains("not available; news goes to the page\n"), "\(doctor.text)")
    #expect(!doctor.text.contains(" for delivery through"), "\(doctor.text)")
    #expect(try await sandbox.watchify("list").text.contains("desktop: not available"))
    program.signal(SIGTERM)
    #expect(try await program.ended().status == 0)
    #expect(try await sandbox.watchify("doctor").text.contains("PROBLEM  desktop"))
  }

  @Test("The settings name its address at a reverse proxy and the access token")
  func publicAddress() async throws {
    try await sandbox.follow()
    for wrong in ["nas.example", "https://nas.example/shops/"] {
      #expect(try await sandbox.watchify("settings", "publicAddress", wrong).status == 2, "\(wrong)")
      #expect(try await sandbox.watchify("serve", "--port", "0", "--public-address", wrong).status == 2, "\(wrong)")
    }
    #expect(try await sandbox.watchify("settings", "publicAddress", "http://nas.example/").status == 2)
    #expect(try await sandbox.watchify("serve", "--port", "0", "--trusted-proxy", "nas.example").status == 2)
    #expect(try await sandbox.watchify("settings", "publicAddress", "https://nas.example/watch").status == 0)
    let watching = try sandbox.startWatchify("serve", "--port", "0")
    defer { watching.signal(SIGKILL) }
    try await eventually("the stores are watched without the page") {
      try watching.errors().contains("nas.example") && watching.output().contains("Watching")
    }
    watching.signal(SIGTERM)
    #expect(try await watching.ended().status == 0)
    let file = sandbox.path("token")
    try Data("a token of enough length\n".utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    #expect(try await sandbox.watchify("settings", "accessTokenFile", file).status == 0)
    let (program, url) = try await serve()
    defer { program.signal(SIGKILL) }
    #expect(url.absoluteString == "https://nas.example/watch/")
    program.signal(SIGTERM)
    #expect(try await program.ended().status == 0)
  }

  @Test("A swapped key and certificate are told as such, before anything else about the files")
  func swapped() async throws {
    for (name, kind) in [("key", "PRIVATE KEY"), ("chain", "CERTIFICATE")] {
      let text = "-----BEGIN \(kind)-----\nAA==\n-----END \(kind)-----\n"
      try Data(text.utf8).write(to: URL(fileURLWithPath: sandbox.path(name)))
    }
    let ended = try await sandbox.bash("watchify serve --port 0 --certificate key --key chain")
    #expect(ended.status == 2 && ended.errors.contains("swapped") && !ended.errors.contains("mode"), "\(ended.errors)")
  }

  @Test("A followed demo shop is served again by the next process")
  func demo() async throws {
    let free = ReplayServer(feed: ReplayTimeline.demoShop.feed, timeline: .demo)
    try free.start()
    let port = try #require(free.port)
    free.stop()
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: sandbox.path("demo.db")))
    let service = await StoreService.makeBackground(container: container)
    func demo() -> PageDemo { PageDemo(service, port: port) { _ in } }
    let first = demo()
    first.startIfFollowed([])
    await #expect(throws: SyncError.self) { try await service.addStore(name: nil, domain: first.address) }
    #expect(try first.start() == first.address && first.start() == first.address, "once")
    _ = try await service.addStore(name: nil, domain: first.address)
    first.stop()
    let second = demo()
    second.startIfFollowed(try await service.stores())
    let url = try #require(URL(string: "http://\(second.address)/"))
    #expect(try await request(url, "/products.json").status == 200)
    demo().startIfFollowed(try await service.stores())  // The port is in use, which is no failure.
    second.stop()
    try await container.close()
  }
}
