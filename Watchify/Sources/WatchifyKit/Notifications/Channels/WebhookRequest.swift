import Coffer
import CofferEncryption
import Foundation

/// The request of a webhook for one message.
struct WebhookRequest {
  var url: URL
  var method = "POST"
  var headers: [(name: String, value: String)] = [("Content-Type", "application/json")]
  var body: Data

  /// Creates a request.
  /// - Throws: `StorageError` if the message cannot be signed.
  init(_ message: NotificationMessage, kind: ChannelKind, to target: URL, token: String?, at now: Date) throws {
    url = target
    let content = message.content
    let priority = content.priority.rawValue
    switch kind {
    case .json, .email:
      body = try Self.json(WebhookPayload(message, at: now))
      headers.append(("Watchify-Delivery", message.identifier))
      if let token {
        let seconds = String(Int(now.timeIntervalSince1970))
        let code = try MessageAuthentication.code(of: Data("\(seconds).".utf8) + body, key: Data(token.utf8))
        headers.append(("Watchify-Timestamp", seconds))
        headers.append(("Watchify-Signature", "v1=" + code.map(\.hexadecimal).joined()))
      }
    case .ntfy:
      let topic = target.lastPathComponent
      url = target.deletingLastPathComponent()
      body = try Self.json(
        Ntfy(
          topic: topic, title: content.title.shortened(to: 250), message: content.body.shortened(to: 3_500),
          priority: [2, 3, 4][priority], click: Set(message.links.values).count == 1 ? message.links.values.first : nil)
      )
      if let token { headers.append(("Authorization", "Bearer \(token)")) }
    case .discord:
      body = try Self.json(
        Discord(
          embeds: [
            Discord.Embed(
              title: content.title.escapedForDiscord.shortened(to: 250),
              description: content.body.escapedForDiscord.shortened(to: 4_000))
          ]))
    case .slack: body = try Self.json(Slack(content))
    case .gotify:
      if target.lastPathComponent != "message" { url = target.appendingPathComponent("message") }
      body = try Self.json(
        Gotify(title: content.title, message: content.body.shortened(to: 3_500), priority: [2, 5, 8][priority]))
      if let token { headers.append(("X-Gotify-Key", token)) }
    case .matrix:
      (url, method) = (try Self.matrixURL(target, message.identifier), "PUT")
      body = try Self.json(Matrix(content))
      if let token { headers.append(("Authorization", "Bearer \(token)")) }
    }
  }

  private static func json(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(value)
  }

  /// Returns the address of a message in a room: a repetition with the same identifier is not shown twice.
  private static func matrixURL(_ target: URL, _ identifier: String) throws -> URL {
    let room = target.lastPathComponent.asPathComponent
    let base = target.deletingLastPathComponent().absoluteString
    let path = "_matrix/client/v3/rooms/\(room)/send/m.room.message/\(identifier.asPathComponent)"
    guard let url = URL(string: base + (base.hasSuffix("/") ? "" : "/") + path) else { throw URLError(.badURL) }
    return url
  }
}

/// A message as ntfy publishes it in JSON (https://docs.ntfy.sh/publish/#publish-as-json). Headers would have to encode
/// all but ASCII.
private struct Ntfy: Encodable {
  var topic: String
  var title: String
  var message: String
  var priority: Int
  var click: String?
}

/// A message to a Discord webhook.
private struct Discord: Encodable {
  struct Embed: Encodable {
    var title: String
    var description: String
  }

  /// No mention in the text notifies anybody.
  struct Mentions: Encodable {
    var parse: [String] = []
  }

  enum CodingKeys: String, CodingKey {
    case username, embeds
    case mentions = "allowed_mentions"
  }

  var username = "Watchify"
  var embeds: [Embed]
  var mentions = Mentions()
}

/// A message to an incoming webhook of Slack. The blocks are plain text, in which nothing is a mention or a link; the
/// text is shown in notifications, and by programs that know no blocks.
private struct Slack: Encodable {
  struct Block: Encodable {
    var type = "section"
    var text: PlainText
  }

  struct PlainText: Encodable {
    var type = "plain_text"
    var text: String
    var emoji = false
  }

  enum CodingKeys: String, CodingKey {
    case text, blocks, mrkdwn
    case unfurlsLinks = "unfurl_links"
    case unfurlsMedia = "unfurl_media"
  }

  var text: String
  var blocks: [Block]
  var mrkdwn = false
  var unfurlsLinks = false
  var unfurlsMedia = false

  init(_ content: NotificationContent) {
    let lines = [content.title, content.body].filter { !$0.isEmpty }
    text = lines.joined(separator: ": ").escapedForSlack.shortened(to: 3_500)
    blocks = lines.map { Block(text: PlainText(text: $0.withoutLinks.shortened(to: 2_900))) }
  }
}

/// A message to a Gotify application.
private struct Gotify: Encodable {
  struct Extras: Encodable {
    enum CodingKeys: String, CodingKey { case display = "client::display" }
    var display = Display()
  }

  struct Display: Encodable {
    var contentType = "text/plain"
  }

  var title: String
  var message: String
  var priority: Int
  var extras = Extras()
}

/// A message to a Matrix room. The empty mentions keep "@room" in a title from notifying everybody.
private struct Matrix: Encodable {
  struct Mentions: Encodable {}

  enum CodingKeys: String, CodingKey {
    case msgtype, body, format
    case html = "formatted_body"
    case mentions = "m.mentions"
  }

  var msgtype = "m.text"
  var body: String
  var format = "org.matrix.custom.html"
  var html: String
  var mentions = Mentions()

  init(_ content: NotificationContent) {
    let (title, text) = (content.title.withoutLinks, content.body.withoutLinks.shortened(to: 10_000))
    body = [title, text].filter { !$0.isEmpty }.joined(separator: ": ")
    html = "<strong>\(title.escapedForXML)</strong><br>\(text.escapedForXML)"
  }
}

extension UInt8 {
  fileprivate var hexadecimal: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}
