import CofferSQLite
public import Foundation

/// An Atom feed (RFC 4287) of changes.
///
/// Each entry stands for the changes of one kind that one read of a store found in one product, as everywhere in
/// Watchify. An entry never changes and its id never either, so readers show it once.
public struct AtomFeed: Sendable {
  /// The title of the feed.
  public var title: String
  /// The identifier of the feed, a URI that never changes.
  public var id: String
  /// The address of the feed itself; `nil` if it has none.
  public var address: String?
  /// The date of the newest change.
  public var updated: Date
  /// The changes, newest first.
  public var events: [ChangeEventDTO]
  /// The addresses of the product pages, by the identifiers of the changes.
  public var links: [UUID: String]

  /// Creates a feed.
  public init(
    title: String, id: String, address: String? = nil, updated: Date, events: [ChangeEventDTO],
    links: [UUID: String] = [:]
  ) {
    self.title = title
    self.id = id
    self.address = address
    self.updated = updated
    self.events = events
    self.links = links
  }

  /// The feed as XML in UTF-8. Texts of shops are escaped, without the control characters that XML forbids; addresses
  /// other than those of web pages are omitted.
  public func rendered() -> Data {
    var xml = """
      <?xml version="1.0" encoding="utf-8"?>
      <feed xmlns="http://www.w3.org/2005/Atom">
        <title>\(title.escapedForXML)</title>
        <id>\(id.escapedForXML)</id>
        <updated>\(updated.formatted(.iso8601))</updated>
        <author><name>Watchify</name></author>
        <generator>Watchify</generator>

      """
    if let address { xml += "  <link rel=\"self\" href=\"\(address.escapedForXML)\"/>\n" }
    for piece in Self.pieces(events) { xml += entry(piece) }
    return Data((xml + "</feed>\n").utf8)
  }

  /// Returns the events of each entry, newest first.
  private static func pieces(_ events: [ChangeEventDTO]) -> [[ChangeEventDTO]] {
    struct Subject: Hashable {
      var store: UUID?
      var at: Date
      var type: ChangeType
      var product: Int64?
    }
    var pieces: [[ChangeEventDTO]] = []
    var known: [Subject: Int] = [:]
    for event in events {
      let subject = Subject(
        store: event.storeId, at: event.occurredAt, type: event.changeType, product: event.productShopifyId)
      if event.productShopifyId != nil, let index = known[subject] {
        pieces[index].append(event)
      } else {
        known[subject] = pieces.count
        pieces.append([event])
      }
    }
    return pieces
  }

  /// Returns a page of events without the last product's entries of one read if the page may have cut them: their ids
  /// would change with the page.
  static func whole(_ events: [ChangeEventDTO], limit: Int) -> [ChangeEventDTO] {
    guard events.count >= limit, let last = events.last else { return events }
    let rest = events.filter { event in
      event.occurredAt != last.occurredAt || event.storeId != last.storeId
        || event.productShopifyId != last.productShopifyId
    }
    return rest.isEmpty ? events : rest
  }

  /// Returns the events of the newest entries.
  /// - Parameter limit: the maximum number of entries.
  static func newest(_ events: [ChangeEventDTO], limit: Int) -> [ChangeEventDTO] {
    Array(pieces(events).prefix(max(0, limit)).joined())
  }

  private func entry(_ events: [ChangeEventDTO]) -> String {
    // The oldest event comes last, and is the same however many of the others a page contains.
    guard let first = events.last else { return "" }
    let store = first.storeName ?? ""
    let sentence = first.sentence(namesVariant: events.count == 1)
    let title = [store, sentence].filter { !$0.isEmpty }.joined(separator: ": ")
    let date = first.occurredAt.formatted(.iso8601)
    let variants = events.reversed().map { event in
      [event.variantTitle ?? "", event.values].filter { !$0.isEmpty }.joined(separator: ": ")
    }.filter { !$0.isEmpty }
    var text = "  <entry>\n    <title>\(title.escapedForXML)</title>\n"
    text += "    <id>tag:watchify.invalid,2026:event/\(first.id.uuidString.lowercased())</id>\n"
    text += "    <updated>\(date)</updated>\n    <published>\(date)</published>\n"
    text += "    <category term=\"\(first.changeType.rawValue)\"/>\n"
    if let link = links[first.id], link.hasPrefix("https://") || link.hasPrefix("http://") {
      text += "    <link rel=\"alternate\" href=\"\(link.escapedForXML)\"/>\n"
    }
    text +=
      "    <content type=\"text\">\((variants.isEmpty ? [sentence] : variants).joined(separator: "\n").escapedForXML)"
    return text + "</content>\n  </entry>\n"
  }
}

extension ChangeEventDTO {
  /// The old and new values as text, such as "$67.90, was $97.00".
  fileprivate var values: String {
    guard let newValue else { return "" }
    return oldValue.map { "\(newValue), was \($0)" } ?? newValue
  }
}

extension StoreService {
  /// The maximum number of changes of a feed: a sale of a large shop has thousands.
  private static let mostFeedEvents = 5_000

  /// Returns the feed of the newest changes that match a filter.
  /// - Parameters:
  ///   - filter: the changes to include.
  ///   - title: the title of the feed; if `nil`, "Watchify" with the name of the filter's store.
  ///   - address: the address of the feed itself, if it has one.
  ///   - limit: the maximum number of entries, which together contain at most 5,000 changes.
  /// - Throws: `StorageError`.
  public func feed(
    _ filter: EventFilter, title: String? = nil, address: String? = nil, limit: Int = 500
  ) async throws -> AtomFeed {
    let most = Self.mostFeedEvents
    let events = AtomFeed.newest(AtomFeed.whole(try await events(filter, limit: most), limit: most), limit: limit)
    let store = try await filter.storeId.flatMapAsync { id in try await self.stores().first { $0.id == id }?.name }
    return try await feed(
      of: events, title: title ?? ["Watchify", store].compactMap { $0 }.joined(separator: ": "),
      id: Self.feedID(filter), address: address)
  }

  /// Returns the feed of the times at which a wish came true.
  /// - Parameters:
  ///   - id: the wish, which may have been removed.
  ///   - address: the address of the feed itself, if it has one.
  ///   - limit: the maximum number of entries, which together contain at most 5,000 changes.
  /// - Throws: `StorageError`.
  public func feed(ofWish id: UUID, address: String? = nil, limit: Int = 500) async throws -> AtomFeed {
    let most = Self.mostFeedEvents
    let events = AtomFeed.newest(AtomFeed.whole(try await events(ofWish: id, limit: most), limit: most), limit: limit)
    return try await feed(
      of: events, title: "Watchify: a wish", id: "tag:watchify.invalid,2026:feed/wish:\(id.uuidString.lowercased())",
      address: address)
  }

  private func feed(
    of events: [ChangeEventDTO], title: String, id: String, address: String?
  ) async throws -> AtomFeed {
    let links = try await productLinks(of: events)
    // Independent of the filter's "unread only", with which entries disappear when they are read.
    let newest = try await database.read { transaction in
      try transaction.query("SELECT max(at) FROM events", []) { $0.optionalDate(0) }[0]
    }
    return AtomFeed(
      title: title, id: id, address: address, updated: newest ?? Date(timeIntervalSince1970: 0), events: events,
      links: links)
  }

  /// Returns the identifier of a filter's feed, which is the same for the same filter.
  private static func feedID(_ filter: EventFilter) -> String {
    var parts = ["feed"]
    if let store = filter.storeId { parts.append("store:\(store.uuidString.lowercased())") }
    if let types = filter.changeTypes { parts.append("type:\(types.map(\.rawValue).sorted().joined(separator: ","))") }
    if filter.unreadOnly { parts.append("unread") }
    return "tag:watchify.invalid,2026:\(parts.joined(separator: "/"))"
  }
}

extension Optional {
  fileprivate func flatMapAsync<R>(_ body: (Wrapped) async throws -> R?) async rethrows -> R? {
    guard let self else { return nil }
    return try await body(self)
  }
}
