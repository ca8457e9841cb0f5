import CofferTesting
import Foundation
import FoundationXML
import Testing

@testable import WatchifyKit

/// Collects the texts of elements.
private final class Reader: NSObject, XMLParserDelegate {
  var texts: [(name: String, text: String)] = []
  var links: [String] = []
  private var isInText = false

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    texts.append((name, ""))
    isInText = true
    if name == "link", let address = attributes["href"] { links.append(address) }
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    if isInText, !texts.isEmpty { texts[texts.count - 1].text += text }
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) { isInText = false }

  func all(_ name: String) -> [String] { texts.filter { $0.name == name }.map(\.text) }

  static func read(_ data: Data) throws -> Reader {
    let (parser, reader) = (XMLParser(data: data), Reader())
    parser.delegate = reader
    guard parser.parse() else { throw TestFailure("\(parser.parserError as Any)") }
    return reader
  }
}

@Suite("The Atom feed", .timeLimit(.minutes(5))) struct AtomFeedTests {
  @Test("Hostile texts and addresses yield well-formed XML without scripts")
  func hostile() throws {
    let message = hostileMessage()
    var event = message.events[0]
    event.productTitle = "]]><x> \u{0} \u{1B}[31m \u{FFFF} \u{202E}" + event.productTitle
    let feed = AtomFeed(
      title: "A & <B>", id: "tag:watchify.invalid,2026:feed", address: "http://127.0.0.1/feed.atom?a=1&b=\"2\"",
      updated: event.occurredAt, events: [event], links: [event.id: "javascript:alert(1)"])
    let reader = try Reader.read(feed.rendered())
    #expect(reader.all("title").first == "A & <B>" && reader.all("entry").count == 1)
    #expect(reader.all("title").last?.contains("]]><x>") ?? false)
    #expect(reader.links == ["http://127.0.0.1/feed.atom?a=1&b=\"2\""], "only web pages are linked")
  }

  @Test("An entry per kind and product, with an id that stays, filtered as the activity is")
  func entries() async throws {
    try await Workshop.use { workshop in
      let empty = try Reader.read(try await workshop.service.feed(EventFilter()).rendered())
      #expect(empty.all("entry").isEmpty && empty.all("updated") == ["1970-01-01T00:00:00Z"])
      let id = try await workshop.follow([product(1, prices: ["100", "100"]), product(2)])
      try await workshop.sync(id, [product(1, prices: ["90", "90"]), product(2, prices: ["130"])])
      let first = try Reader.read(try await workshop.service.feed(EventFilter(storeId: id)).rendered())
      #expect(first.all("entry").count == 2, "variants of a product are one entry")
      #expect(first.links.allSatisfy { $0.hasPrefix("https://mats.example/products/") } && first.links.count == 2)
      let ids = Set(first.all("id").dropFirst())
      #expect(ids.allSatisfy { $0.hasPrefix("tag:watchify.invalid,2026:event/") })
      let rises = try await workshop.service.feed(EventFilter(changeTypes: [.priceIncreased]))
      #expect(try Reader.read(rises.rendered()).all("entry").count == 1)
      try await workshop.sync(id, [product(1, prices: ["80", "90"]), product(2, prices: ["130"])])
      let second = try Reader.read(try await workshop.service.feed(EventFilter(storeId: id)).rendered())
      #expect(ids.isSubset(of: second.all("id")) && second.all("entry").count == 3)
      let (before, after) = (first.all("updated")[0], second.all("updated")[0])
      #expect(before < after)
      // Reading news removes entries and never turns the date back.
      try await workshop.service.markRead(EventFilter())
      let unread = try Reader.read(try await workshop.service.feed(EventFilter(unreadOnly: true)).rendered())
      #expect(unread.all("entry").isEmpty && unread.all("updated") == [after])
      // A page never shows a part of an entry, whose id would differ.
      let page = try Reader.read(try await workshop.service.feed(EventFilter(), limit: 2).rendered())
      #expect(Set(page.all("id").dropFirst()).isSubset(of: second.all("id")) && page.all("entry").count == 2)
    }
  }

  @Test("A sale of a large shop is in the feed, not only its last products")
  func sale() async throws {
    try await Workshop.use { workshop in
      let all = (1...Int64(300)).map { product($0, prices: ["100", "100", "100"]) }
      let id = try await workshop.follow(all)
      try await workshop.sync(id, (1...Int64(300)).map { product($0, prices: ["70", "70", "70"]) })
      let feed = try Reader.read(try await workshop.service.feed(EventFilter()).rendered())
      #expect(feed.all("entry").count == 300)
    }
  }
}
