import Coffer
import CofferEncryption
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("Webhooks", .timeLimit(.minutes(5))) struct WebhookTests {
  private let directory: TemporaryDirectory
  private let secrets: ChannelSecrets

  init() throws {
    directory = try TemporaryDirectory()
    secrets = temporarySecrets(directory)
  }

  private func object(_ data: Data) throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
  }

  @Test("The JSON is versioned, signed over timestamp and body, and names the event, its prices and its page")
  func json() async throws {
    let server = try ScriptedServer([.status(204)])
    defer { server.stop() }
    let channel = try await localChannel(port: server.port, token: "k3y", secrets: secrets)
    let now = Date(timeIntervalSince1970: 1_790_000_123)
    try await WebhookChannel(channel, secrets: secrets, deadline: .seconds(10), now: { now }).deliver(hostileMessage())
    let request = try #require(server.log.first)
    #expect(request.head.hasPrefix("POST /hook ") && request.header("Content-Type") == "application/json")
    let time = try #require(request.header("Watchify-Timestamp"))
    #expect(time == "1790000123")
    let signature = try #require(request.header("Watchify-Signature"))
    let code = try MessageAuthentication.code(of: Data("\(time).".utf8) + request.body, key: Data("k3y".utf8))
    #expect(signature == "v1=" + code.map { String(format: "%02x", $0) }.joined())
    #expect(try !MessageAuthentication.isValid(code, of: request.body, key: Data("k3y".utf8)))
    let body = try object(request.body)
    #expect(body["version"] as? Int == 1 && body["kind"] as? String == "news")
    #expect(body["priority"] as? String == "timeSensitive" && body["more"] as? Int == 0)
    #expect(body["id"] as? String == request.header("Watchify-Delivery"))
    let event = try #require((body["events"] as? [NSDictionary])?.first)
    #expect(event["type"] as? String == "priceDropped" && event["newPrice"] as? String == "70.00")
    #expect(event["url"] as? String == "https://shop.example/products/x")
  }

  @Test("HMAC-SHA-256 gives the codes of RFC 4231")
  func vectors() throws {
    let code = try MessageAuthentication.code(of: Data("what do ya want for nothing?".utf8), key: Data("Jefe".utf8))
    let text = code.map { String(format: "%02x", $0) }.joined()
    #expect(text == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test("Hostile texts neither break a shape nor mention anybody")
  func shapes() throws {
    let message = hostileMessage()
    func request(_ kind: ChannelKind, _ address: String) throws -> WebhookRequest {
      try WebhookRequest(message, kind: kind, to: try #require(URL(string: address)), token: "tok", at: Date())
    }
    let ntfy = try request(.ntfy, "https://ntfy.example/sub/topic")
    #expect(ntfy.url.absoluteString == "https://ntfy.example/sub/")
    let published = try object(ntfy.body)
    #expect(published["topic"] as? String == "topic" && published["priority"] as? Int == 4)
    #expect(published["click"] as? String == "https://shop.example/products/x")
    #expect(ntfy.headers.allSatisfy { !$0.value.contains { $0.isNewline } })
    #expect(ntfy.headers.contains { $0 == ("Authorization", "Bearer tok") })

    let discord = try object(try request(.discord, "https://discord.example/api/webhooks/1/t").body)
    #expect((discord["allowed_mentions"] as? NSDictionary)?["parse"] as? [String] == [])
    let embed = try #require((discord["embeds"] as? [NSDictionary])?.first)
    let description = try #require(embed["description"] as? String)
    #expect(!description.contains("@everyone") && !description.contains("https://") && description.contains("\\*\\*x"))
    #expect(!description.replacing("\\[", with: "").contains("["))

    let slack = try object(try request(.slack, "https://slack.example/services/t").body)
    let text = try #require(slack["text"] as? String)
    #expect(!text.contains("<") && text.contains("&lt;!channel&gt;") && slack["mrkdwn"] as? Bool == false)
    let blocks = try #require(slack["blocks"] as? [NSDictionary])
    #expect(blocks.allSatisfy { ($0["text"] as? NSDictionary)?["type"] as? String == "plain_text" })

    let gotify = try request(.gotify, "https://gotify.example/base")
    #expect(gotify.url.absoluteString == "https://gotify.example/base/message")
    #expect(gotify.headers.contains { $0 == ("X-Gotify-Key", "tok") })

    let matrix = try request(.matrix, "https://matrix.example/!room:example.org")
    #expect(
      matrix.url.absoluteString.hasPrefix(
        "https://matrix.example/_matrix/client/v3/rooms/%21room%3Aexample.org/send/m.room.message/"))
    let again = try request(.matrix, "https://matrix.example/!room:example.org")
    #expect(matrix.method == "PUT" && matrix.url == again.url, "a repetition has the same transaction")
    let sent = try object(matrix.body)
    let html = try #require(sent["formatted_body"] as? String)
    #expect(!html.contains("<script") && html.contains("&lt;script&gt;") && sent["m.mentions"] is NSDictionary)
  }

  @Test("Addresses are checked: schemes, credentials, private hosts, topics and rooms")
  func addresses() {
    let refused: [(String, ChannelKind, Bool)] = [
      ("http://example.org/hook", .json, false), ("ftp://example.org", .json, true), ("example.org", .json, false),
      ("https://user:pass@example.org/hook", .json, false), ("https://127.0.0.1/hook", .json, false),
      ("https://localhost/hook", .json, false), ("https://[::1]/hook", .json, false),
      ("https://169.254.169.254/latest", .json, false), ("https://100.64.1.1/x", .json, false),
      ("https://nas.local/x", .json, false), ("https://[::ffff:10.0.0.1]/x", .json, false),
      ("https://ntfy.sh/", .ntfy, false), ("https://matrix.org/room", .matrix, false),
      ("https://mail.example.org", .email, false), ("https://example.org/a b", .json, false),
      ("https://example.org/\r\nX: y", .json, false),
    ]
    for (address, kind, allowsPrivate) in refused {
      #expect(throws: ChannelTarget.Invalid.self, "\(address)") {
        try ChannelTarget(address, kind: kind, allowsPrivate: allowsPrivate)
      }
    }
    for (address, kind) in [
      ("https://example.org/hook?token=x", ChannelKind.json), ("https://ntfy.sh/topic", .ntfy),
      ("smtps://mail.example.org", .email),
    ] {
      #expect(throws: Never.self, "\(address)") { try ChannelTarget(address, kind: kind, allowsPrivate: false) }
    }
  }

  @Test("A name that resolves to this device is not connected to; plain HTTP goes to own networks only")
  func resolution() async throws {
    let server = try ScriptedServer([.status(200)])
    defer { server.stop() }
    // Numbers that getaddrinfo(3) takes for 127.0.0.1, and that no check of the text finds.
    for host in ["2130706433", "0x7f000001", "127.1"] {
      let channel = try await localChannel(
        name: "h\(host.count)", port: server.port, allowsPrivate: false, scheme: "https", host: host, secrets: secrets)
      let error = await failure(WebhookChannel(channel, secrets: secrets, deadline: .seconds(10)))
      #expect(
        error?.isUncertain == false && error?.reason.contains("Nothing was sent") ?? false, "\(host) \(error as Any)")
    }
    #expect(server.log.isEmpty)
  }

  @Test(
    "Statuses: accepted, refused for good, or to be tried again",
    arguments: [
      (301, false), (302, false), (307, false), (400, false), (401, false), (403, false), (404, false), (410, false),
      (408, true), (429, true), (500, true), (503, true),
    ])
  func statuses(status: Int, isTemporary: Bool) async throws {
    let trap = try ScriptedServer([.status(200)])
    let server = try ScriptedServer([.status(status, "Location: http://127.0.0.1:\(trap.port)/x")])
    defer {
      server.stop()
      trap.stop()
    }
    let channel = try await localChannel(port: server.port, secrets: secrets)
    let error = await failure(WebhookChannel(channel, secrets: secrets, deadline: .seconds(10)))
    #expect(error?.isTemporary == isTemporary && error?.isUncertain == false, "\(error as Any)")
    #expect(server.log.count == 1 && trap.log.isEmpty, "redirects are not followed")
    #expect(error?.reason.contains("/hook") == false, "the address is a secret")
  }

  @Test("Retry-After is read as seconds and as a date")
  func retryAfter() async throws {
    let server = try ScriptedServer([
      .status(429, "Retry-After: 120"), .status(429, "Retry-After: Wed, 23 Sep 2026 14:00:00 GMT"),
    ])
    defer { server.stop() }
    let now = try #require(FeedDate.http("Wed, 23 Sep 2026 13:50:00 GMT"))
    let channel = try await localChannel(port: server.port, secrets: secrets)
    let webhook = WebhookChannel(channel, secrets: secrets, deadline: .seconds(10), now: { now })
    #expect(await failure(webhook)?.retryAfter == 120)
    #expect(await failure(webhook)?.retryAfter == 600)
  }

  @Test("A test has an identifier of its own, the same in the body and in the header")
  func identifier() async throws {
    let server = try ScriptedServer([.status(204)])
    defer { server.stop() }
    let webhook = WebhookChannel(try await localChannel(port: server.port, secrets: secrets), secrets: secrets)
    for message in [NotificationMessage.test, .test, .missed(3)] { try await webhook.deliver(message) }
    let ids = try server.log.map { request in
      let id = try object(request.body)["id"] as? String
      #expect(id == request.header("Watchify-Delivery"))
      return id
    }
    #expect(Set(ids).count == 3)
  }

  @Test(
    "A response that ends early accepts nothing",
    arguments: [
      "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nacce",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nacce\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
    ])
  func cut(answer: String) async throws {
    let server = try ScriptedServer([.raw(Array(answer.utf8))])
    defer { server.stop() }
    let channel = try await localChannel(port: server.port, secrets: secrets)
    #expect(await failure(WebhookChannel(channel, secrets: secrets))?.isUncertain == true)
    #expect(server.log.count == 1, "it is not repeated within a delivery")
  }

  @Test("A response that does not go on accepts nothing")
  func stalled() async throws {
    let server = try ScriptedServer([.stall(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nacce".utf8))])
    defer { server.stop() }
    let channel = try await localChannel(port: server.port, secrets: secrets)
    let webhook = WebhookChannel(channel, secrets: secrets, deadline: .seconds(5))
    #expect(await failure(webhook)?.isUncertain == true)
    #expect(server.log.count == 1)
  }

  @Test("Whole responses of any length accept a message, whatever their coding")
  func whole() async throws {
    let long = String(repeating: "x", count: 300_000)
    let server = try ScriptedServer([
      .text(long), .raw(Array("HTTP/1.1 200 OK\r\n\r\nuntil the end".utf8)), .json("{}"),
      .raw(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".utf8)),
      .raw(Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n".utf8)),
      .raw(Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain".utf8)),
      .raw(Array("HTTP/1.1 200 OK\r\nContent-Encoding: br, gzip\r\nContent-Length: 5\r\n\r\nplain".utf8)),
    ])
    defer { server.stop() }
    let channel = try await localChannel(port: server.port, secrets: secrets)
    let webhook = WebhookChannel(channel, secrets: secrets, deadline: .seconds(10))
    for _ in 1...7 { try await webhook.deliver(.test) }
    #expect(server.log.count == 7)
    #expect(server.log.allSatisfy { $0.header("Accept-Encoding") == nil })
  }

  @Test("A server that hangs, or closes the connection, leaves the outcome open; a closed port does not")
  func uncertain() async throws {
    let server = try ScriptedServer([.silence, .raw([])])
    let channel = try await localChannel(port: server.port, secrets: secrets)
    let webhook = WebhookChannel(channel, secrets: secrets, deadline: .seconds(1))
    let hung = await failure(webhook)
    #expect(hung?.isUncertain == true && hung?.reason.contains("in time") ?? false)
    #expect(await failure(webhook)?.isUncertain == true)
    let port = server.port
    server.stop()  // Once: its descriptor may belong to another test afterwards.
    await server.stopped()
    let closed = try await localChannel(name: "closed", port: port, secrets: secrets)
    let error = await failure(WebhookChannel(closed, secrets: secrets, deadline: .seconds(5)))
    #expect(error?.isUncertain == false && error?.reason.contains("cannot be reached") ?? false)
  }

  @Test("Delays grow, are varied, and yield to the server's own")
  func delays() {
    let error = ChannelError("x", isTemporary: true)
    func delay(_ failures: Int, _ error: ChannelError, _ jitter: Double = 1) -> TimeInterval {
      RetryPolicy.backoff.delay(after: failures, error) { _ in jitter }
    }
    #expect([1, 2, 3, 20, 4_000].map { delay($0, error) } == [60, 120, 240, 21_600, 21_600])
    #expect(delay(1, error, 0.8) == 48 && RetryPolicy.steady.delay(after: 9, error) == 60)
    #expect(delay(1, ChannelError("x", isTemporary: false)) == 21_600)
    #expect(delay(1, ChannelError("x", isTemporary: true, retryAfter: 3_600)) == 3_600)
    #expect(delay(1, ChannelError("x", isTemporary: true, retryAfter: 1e12)) == 86_400)
  }
}
