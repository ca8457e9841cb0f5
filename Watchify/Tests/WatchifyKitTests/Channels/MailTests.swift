import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("E-mail", .timeLimit(.minutes(5))) struct MailTests {
  private let directory: TemporaryDirectory
  private let secrets: ChannelSecrets

  init() throws {
    directory = try TemporaryDirectory()
    secrets = temporarySecrets(directory)
  }

  private func channel(
    _ server: MailServer, password: String? = "p4ssw0rd", scheme: String = "smtp", trusts: Bool = true
  ) async throws -> MailChannel {
    var channel = try await localChannel(
      .email, name: "mail", path: "", port: server.port, token: password, scheme: scheme,
      certificates: trusts ? server.certificate : nil, secrets: secrets)
    channel.options.user = password.map { _ in "ada" }
    return MailChannel(channel, secrets: secrets, deadline: .seconds(15))
  }

  @Test("A message goes out over STARTTLS or TLS, after authentication, with encoded texts", arguments: [false, true])
  func delivers(isImplicit: Bool) async throws {
    let server = try MailServer(isImplicit: isImplicit)
    try await channel(server, scheme: isImplicit ? "smtps" : "smtp").deliver(hostileMessage())
    let log = try server.log()
    let plain = log.split(separator: "\n").filter { $0.hasPrefix("plain") }
    #expect(plain.allSatisfy { $0.hasPrefix("plain EHLO") || $0 == "plain STARTTLS" }, "\(plain)")
    #expect(log.contains("tls MAIL FROM:<shop@example.org>") && log.contains("tls RCPT TO:<ada@example.org>"))
    let message = log.split(separator: "\n", omittingEmptySubsequences: false).filter { $0.hasPrefix("data ") }
      .map { $0.dropFirst(5) }
    #expect(message.allSatisfy { $0.utf8.count <= 78 })
    #expect(!message.contains { $0.hasPrefix("X: 1") }, "a title adds no header")
    let subject = try #require(message.first { $0.hasPrefix("Subject: ") })
    #expect(subject.hasPrefix("Subject: =?utf-8?B?"))
    #expect(message.contains { $0.hasPrefix("Message-ID: <") && $0.hasSuffix("@example.org>") })
    let html = try #require(message.lastIndex { $0.hasPrefix("Content-Transfer-Encoding") })
    let part = message[(html + 2)...].prefix { !$0.hasPrefix("--") }.joined()
    let text = String(decoding: try #require(Data(base64Encoded: part)), as: UTF8.self)
    #expect(!text.contains("<script") && text.contains("&lt;script&gt;") && text.contains("https://shop.example/"))
    #expect(!log.contains("p4ssw0rd"))
  }

  @Test("A certificate that is unknown, expired or for another name is refused with the reason, and nothing is sent")
  func certificates() async throws {
    let cases: [(MailServer, Bool, String)] = [
      (try MailServer(), false, "signed by itself"), (try MailServer(name: "mail.example.org"), true, "another site"),
      (try MailServer(isExpired: true), true, "expired"),
    ]
    for (server, trusts, words) in cases {
      let error = await failure(try await channel(server, trusts: trusts))
      #expect(error?.reason.contains(words) ?? false, "\(words): \(error as Any)")
      #expect(error?.isTemporary == true && error?.isUncertain == false)
      #expect(!(try server.log()).contains("MAIL"))
    }
  }

  @Test("A webhook does not trust such a certificate either")
  func webhookCertificates() async throws {
    let server = try MailServer(isImplicit: true)
    defer { withExtendedLifetime(server) {} }
    let channel = try await localChannel(port: server.port, scheme: "https", secrets: secrets)
    let error = await failure(WebhookChannel(channel, secrets: secrets, deadline: .seconds(15)))
    #expect(error?.reason.contains("signed by itself") ?? false, "\(error as Any)")
    #expect(error?.isTemporary == true && error?.isUncertain == false)
  }

  @Test("Without STARTTLS neither the password nor the message is sent")
  func downgrade() async throws {
    let server = try MailServer(fault: .noTLS)
    let error = await failure(try await channel(server))
    #expect(error?.reason.contains("STARTTLS") ?? false, "\(error as Any)")
    let log = try server.log()
    #expect(!log.contains("AUTH") && !log.contains("MAIL"))
  }

  @Test("Only a refusal after the message is one of the message; one of the sender's address pauses the channel")
  func refusedMessage() async throws {
    let cases: [(MailServer, Bool)] = [
      (try MailServer(fault: .refusesMessage), true), (try MailServer(fault: .blocked), false),
      (try MailServer(fault: .refusesRecipient), false),
    ]
    for (server, isAboutMessage) in cases {
      let error = try #require(await failure(try await channel(server)))
      #expect(error.isAboutMessage == isAboutMessage && !error.isUncertain, "\(error)")
      #expect(!error.isTemporary, "\(error)")
    }
  }

  @Test("Refusals: a wrong password, an unknown recipient, a busy server, and silence after the message")
  func refusals() async throws {
    let servers = try [MailServer(), MailServer(fault: .refusesRecipient), MailServer(fault: .busy)]
    defer { withExtendedLifetime(servers) {} }
    let wrong = await failure(try await channel(servers[0], password: "wr0ng"))
    #expect(wrong?.reason.contains("password") ?? false && wrong?.isTemporary == false, "\(wrong as Any)")
    #expect(!(wrong?.reason.contains("wr0ng") ?? true))
    let unknown = await failure(try await channel(servers[1]))
    #expect(unknown?.reason.contains("550") ?? false && unknown?.isTemporary == false, "\(unknown as Any)")
    let busy = await failure(try await channel(servers[2]))
    #expect(busy?.reason.contains("451") ?? false && busy?.isTemporary == true, "\(busy as Any)")
    let server = try MailServer(fault: .silentAfterData)
    defer { withExtendedLifetime(server) {} }
    let channel = try await localChannel(
      .email, name: "mail", path: "", port: server.port, scheme: "smtp", certificates: server.certificate,
      secrets: secrets)
    let silent = await failure(MailChannel(channel, secrets: secrets, deadline: .seconds(3)))
    #expect(silent?.isUncertain == true && silent?.isTemporary == true, "\(silent as Any)")
  }

  @Test("Headers: encoded words of at most 75 characters, dates, addresses")
  func headers() {
    #expect(MailMessage.encoded("Plain text") == "Plain text")
    for text in ["Größe\r\nBcc: x@y", "=?utf-8?Q?x?=", String(repeating: "日本語", count: 40), "a\u{0}b"] {
      let encoded = MailMessage.encoded(text)
      let words = encoded.components(separatedBy: "\r\n ")
      #expect(
        words.allSatisfy { $0.utf8.count <= 75 && $0.hasPrefix("=?utf-8?B?") && $0.hasSuffix("?=") }, "\(encoded)")
      let decoded = words.compactMap { Data(base64Encoded: String($0.dropFirst(10).dropLast(2))) }
      #expect(decoded.allSatisfy { String(data: $0, encoding: .utf8) != nil }, "no scalar is cut")
      #expect(!decoded.contains { $0.contains(13) || $0.contains(10) })
    }
    #expect(MailMessage.text(Date(timeIntervalSince1970: 1_790_000_000)) == "Mon, 21 Sep 2026 14:13:20 +0000")
    for address in ["", "a", "a@", "@b", "a@b\r\n", "a@b c", "<a@b>", "a@b@c", "a@b..c", "a,b@c", "ä@b"] {
      #expect(!MailMessage.isAddress(address), "\(address)")
    }
    #expect(MailMessage.isAddress("ada+shops@example.org"))
  }
}
