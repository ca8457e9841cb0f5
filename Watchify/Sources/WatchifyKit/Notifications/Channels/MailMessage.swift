import Foundation

/// An e-mail in the format of RFC 5322 and MIME: a plain text and an HTML alternative, both in UTF-8 and Base64, so
/// that no line is long and no shop's text reaches a header unencoded.
struct MailMessage {
  var sender: String
  var recipients: [String]
  var subject: String
  var text: String
  var html: String
  var date: Date
  /// A unique text, from which the message id and the boundary are made.
  var identifier: String

  /// The message with CRLF line ends.
  var bytes: Data {
    let domain = sender.split(separator: "@").last ?? "localhost"
    let boundary = "=_watchify-\(identifier)"
    var lines = [
      "From: Watchify <\(sender)>", "To: \(recipients.joined(separator: ",\r\n "))",
      "Subject: \(Self.encoded(subject))", "Date: \(Self.text(date))", "Message-ID: <\(identifier)@\(domain)>",
      "Auto-Submitted: auto-generated", "MIME-Version: 1.0",
      "Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"", "",
    ]
    for (type, content) in [("plain", text), ("html", html)] {
      lines += [
        "--\(boundary)", "Content-Type: text/\(type); charset=utf-8", "Content-Transfer-Encoding: base64", "",
        Data(content.utf8).base64EncodedString(options: [
          .lineLength76Characters, .endLineWithCarriageReturn, .endLineWithLineFeed,
        ]),
      ]
    }
    return Data((lines + ["--\(boundary)--", ""]).joined(separator: "\r\n").utf8)
  }

  /// Returns a header's text as encoded words (RFC 2047), of at most 75 characters each, on lines of their own. Texts
  /// of printable ASCII that cannot be taken for an encoded word remain as they are.
  static func encoded(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { (0x20..<0x7F).contains($0) } && !text.contains("=?") && text.utf8.count <= 60
    guard !isPlain || text.hasPrefix(" ") || text.hasSuffix(" ") else { return text }
    var words: [String] = []
    var part = ""
    for scalar in text.unicodeScalars where scalar.properties.generalCategory != .control {
      // 39 bytes are 52 characters of Base64, and fit beside "Subject: "; a word never ends within a scalar.
      if part.utf8.count + UTF8.width(scalar) > 39 {
        words.append(part)
        part = ""
      }
      part.unicodeScalars.append(scalar)
    }
    if !part.isEmpty { words.append(part) }
    return words.map { "=?utf-8?B?\(Data($0.utf8).base64EncodedString())?=" }.joined(separator: "\r\n ")
  }

  /// Returns a date such as "Wed, 25 Nov 2026 08:00:00 +0000".
  static func text(_ date: Date) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int?) -> String { ((number ?? 0) < 10 ? "0" : "") + String(number ?? 0) }
    let time = [parts.hour, parts.minute, parts.second].map(two).joined(separator: ":")
    let day = days[((parts.weekday ?? 1) - 1) % 7]
    return "\(day), \(parts.day ?? 1) \(months[((parts.month ?? 1) - 1) % 12]) \(parts.year ?? 1970) \(time) +0000"
  }

  /// Returns whether a text is a plain e-mail address, such as "ada@example.org".
  static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"()<>,;:\\\"[]".utf8.contains($0) }
    return isPlain && parts.count == 2 && !parts[0].isEmpty && parts[0].utf8.count <= 64 && parts[1].utf8.count <= 253
      && parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
  }
}

extension UTF8 {
  fileprivate static func width(_ scalar: Unicode.Scalar) -> Int { String(scalar).utf8.count }
}

extension MailMessage {
  /// The maximum number of changes that one message lists.
  static let longestList = 300

  /// Creates the e-mail of a message: one change per line, by store.
  init(_ message: NotificationMessage, from sender: String, to recipients: [String], at date: Date) {
    self.sender = sender
    self.recipients = recipients
    self.date = date
    identifier = UUID().uuidString.lowercased()
    let content = message.content
    let isDigest = Set(message.events.map(\.storeId)).count > 1
    let summary = NotificationContent.summary(of: message.events)
    subject =
      isDigest
      ? "Watchify: \(summary)" : [content.title, content.body].filter { !$0.isEmpty }.joined(separator: ": ")
    subject = subject.shortened(to: 200)
    guard !message.events.isEmpty else {
      text = content.body + "\r\n"
      html = Self.page("<p>\(content.body.escapedForXML)</p>")
      return
    }
    var lines: [String] = [summary, ""]
    var items = "<p>\(summary.escapedForXML)</p>"
    let listed = message.events.prefix(Self.longestList)
    for (store, events) in Self.byStore(Array(listed)) {
      lines.append(store)
      items += "<h2>\(store.escapedForXML)</h2><ul>"
      for event in events {
        let words = event.sentence(namesVariant: true)
        let link = message.links[event.id]
        lines.append("  \(words)")
        if let link { lines.append("    \(link)") }
        items +=
          link.map { "<li><a href=\"\($0.escapedForXML)\">\(words.escapedForXML)</a></li>" }
          ?? "<li>\(words.escapedForXML)</li>"
      }
      lines.append("")
      items += "</ul>"
    }
    let rest = message.events.count - listed.count
    if rest > 0 {
      lines.append("… and \(rest) more: see 'watchify activity'.")
      items += "<p>… and \(rest) more: see <code>watchify activity</code>.</p>"
    }
    text = lines.joined(separator: "\r\n") + "\r\n"
    html = Self.page(items)
  }

  private static func page(_ body: String) -> String {
    "<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>Watchify</title></head><body>\(body)</body></html>"
  }

  /// Returns the events of each store, in the order of their first events.
  private static func byStore(_ events: [ChangeEventDTO]) -> [(store: String, events: [ChangeEventDTO])] {
    var groups: [(id: UUID?, store: String, events: [ChangeEventDTO])] = []
    for event in events {
      if let index = groups.firstIndex(where: { $0.id == event.storeId }) {
        groups[index].events.append(event)
      } else {
        groups.append((event.storeId, event.storeName ?? "", [event]))
      }
    }
    return groups.map { ($0.store, $0.events) }
  }
}

/// Checks of e-mail addresses.
public enum MailAddress {
  /// Returns whether a text is a plain e-mail address, such as "ada@example.org".
  public static func isValid(_ text: String) -> Bool { MailMessage.isAddress(text) }
}
