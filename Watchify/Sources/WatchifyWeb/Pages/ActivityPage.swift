import CofferRouter
import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The page of what changed, newest first.
enum ActivityPage {
  static let pageSize = 50

  static func page(
    _ context: PageContext, _ service: StoreService, _ container: ModelContainer
  ) async throws -> HTTPResponse {
    let query = try ActivityQuery(context.request.query, stores: context.stores, moments: context.moments)
    let filter = query.filter(context.moments)
    let unread = try await service.unreadCount(filter)
    var unreadFilter = filter
    unreadFilter.unreadOnly = true
    let newest = try await service.events(unreadFilter, limit: 1).first
    let (groups, hasMore) = try await groups(query, context, service, container)
    return Frame.page("Activity", .activity, context, isLive: query.page == 1) {
      tag(.div, .class("head")) {
        tag(.h1) { "Activity" }
        if unread > 0, let newest {
          context.form(Link(["activity", "read"]), "inline") {
            for item in query.items { hiddenField(item.name, item.value) }
            hiddenField("all", "1")
            hiddenField("until", String(Int64((newest.occurredAt.timeIntervalSince1970 * 1_000).rounded(.up))))
            tag(.button, .set(.type, "submit"), .class("quiet")) {
              let news = counted(unread, "piece of news", plural: "pieces of news")
              query.isFiltered ? "Mark the \(news) of this selection as read" : "Mark all \(news) as read"
            }
          }
        }
      }
      filters(query, context)
      if groups.isEmpty {
        nothing(query, context)
      } else {
        list(groups, query, context)
        Frame.pager(query.page, hasMore: hasMore, label: "Pages of news") { query.at(page: $0).link }
      }
      tag(.p, .class("note")) {
        tag(.a, .href(context.feed(query.at(page: 1).items)), .set(.type, "application/atom+xml")) {
          "This list as a feed"
        }
      }
    }
  }

  /// Returns the rows of a page. The first page begins with the unread news of all pages, as far as it has room.
  private static func groups(
    _ query: ActivityQuery, _ context: PageContext, _ service: StoreService, _ container: ModelContainer
  ) async throws -> (groups: [ActivityGroup], hasMore: Bool) {
    let window = try await container.settings.get(StorageKeys.activityGroupingWindowMinutes)
    var filter = query.filter(context.moments)
    let (start, end) = ((query.page - 1) * pageSize, query.page * pageSize)
    let listed = try await groups(filter, most: end + 1, window, service)
    let hasMore = listed.count > end && query.page < ActivityQuery.lastPage
    let shown = Array(listed.dropFirst(start).prefix(pageSize))
    guard query.page == 1, !query.unreadOnly else { return (shown, hasMore) }
    filter.unreadOnly = true
    let unread = try await groups(filter, most: pageSize, window, service)
    return (unread + shown.filter { !$0.isUnread }, hasMore)
  }

  /// Returns the first groups of the events that match a filter.
  private static func groups(
    _ filter: EventFilter, most: Int, _ window: Int, _ service: StoreService
  ) async throws -> [ActivityGroup] {
    var events: [ChangeEventDTO] = []
    while true {
      let page = try await service.events(filter, offset: events.count, limit: 500)
      events += page
      let groups = ActivityGroup.groups(of: events, windowMinutes: window)
      // One more than wanted, because the last group may continue on the next page.
      if page.count < 500 || groups.count > most { return Array(groups.prefix(most)) }
    }
  }

  private static func filters(_ query: ActivityQuery, _ context: PageContext) -> HTML {
    let periods = [("", "Any time"), ("today", "Today"), ("7d", "7 days"), ("30d", "30 days")]
    let own = periods.contains { $0.0 == query.since } ? [] : [(query.since, "Since \(query.since)")]
    return tag(.form, .class("filters"), .set(.method, "get"), .action(Link(["activity"])), .set(.dataAuto, "1")) {
      Frame.storeField(query.store, context)
      tag(.label, .class("field")) {
        tag(.span, .class("label")) { "News" }
        tag(.select, .set(.name, "type")) {
          option("", "All news", query.kind.text)
          for category in ActivityGroup.Category.allCases {
            let kind = ActivityQuery.Kind.category(category)
            option(kind.text, "\(category.rawValue == "Store" ? "Shop" : category.rawValue) news", query.kind.text)
            for type in ChangeType.allCases where type.category == category {
              option(type.rawValue, "– \(name(of: type))", query.kind.text)
            }
          }
        }
      }
      Frame.select("Since", "since", query.since, (periods + own).map { (value: $0.0, label: $0.1) })
      tag(.label, .class("check")) {
        tag(
          .input, .set(.type, "checkbox"), .set(.name, "unread"), .set(.value, "1"),
          .flag(.checked, if: query.unreadOnly))
        tag(.span) { "Unread only" }
      }
      tag(.button, .set(.type, "submit"), .class("quiet")) { "Show" }
      if query.isFiltered { tag(.a, .class("reset"), .href(Link(["activity"]))) { "Show all" } }
    }
  }

  private static func option(_ value: String, _ label: String, _ selected: String) -> HTML {
    tag(.option, .set(.value, value), .flag(.selected, if: value == selected)) { label }
  }

  /// The name of a kind of change in a list.
  static func name(of type: ChangeType) -> String {
    switch type {
    case .priceDropped: "price down"
    case .priceIncreased: "price up"
    case .backInStock: "back in stock"
    case .outOfStock: "sold out"
    case .newProduct: "new product"
    case .productRemoved: "no longer sold"
    case .imagesChanged: "pictures"
    case .productReturned: "sold again"
    case .newVariant: "new variant"
    case .compareAtChanged: "list price"
    case .currencyChanged: "currency"
    case .storeClosed: "closed"
    case .storeReopened: "open again"
    case .wishFulfilled: "wish came true"
    }
  }

  private static func list(_ groups: [ActivityGroup], _ query: ActivityQuery, _ context: PageContext) -> HTML {
    let unread = groups.filter(\.isUnread)
    let read = groups.filter { !$0.isUnread }
    return pieces {
      if !unread.isEmpty {
        tag(.section, .set(.ariaLabelledBy, "unread-title")) {
          tag(.h2, .class("day"), .id("unread-title")) { "Unread" }
          rows(unread, query, context, namesDays: true)
        }
      }
      for day in days(of: read, context.moments) {
        tag(.section) {
          tag(.h2, .class("day")) { day.name }
          rows(day.groups, query, context, namesDays: false)
        }
      }
    }
  }

  private static func days(
    of groups: [ActivityGroup], _ moments: Moments
  ) -> [(name: String, groups: [ActivityGroup])] {
    var days: [(name: String, groups: [ActivityGroup])] = []
    for group in groups {
      guard let date = group.events.first?.occurredAt else { continue }
      let name = moments.day(date)
      if days.last?.name == name {
        days[days.count - 1].groups.append(group)
      } else {
        days.append((name, [group]))
      }
    }
    return days
  }

  private static func rows(
    _ groups: [ActivityGroup], _ query: ActivityQuery, _ context: PageContext, namesDays: Bool
  ) -> HTML {
    tag(.ul, .class("news")) {
      for (index, group) in groups.enumerated() {
        let next = groups.dropFirst(index + 1).first ?? group
        row(group, query, context, namesDays: namesDays, next: next.anchor)
      }
    }
  }

  /// Returns a row of news.
  /// - Parameter next: the row to which *Read* leads; `nil` for the same one on the page of its shop.
  static func row(
    _ group: ActivityGroup, _ query: ActivityQuery, _ context: PageContext, namesDays: Bool, next: String? = nil
  ) -> HTML {
    guard let event = group.events.first else { return HTML() }
    let store = context.stores.first { $0.id == event.storeId }
    return tag(.li, .class(group.isUnread ? "unread" : nil), .id(group.anchor)) {
      tag(.span, .class("when")) {
        if group.isUnread { NewsText.hidden("Unread. ") }
        context.moments.element(
          event.occurredAt, namesDays ? context.moments.text(event.occurredAt) : context.moments.time(event.occurredAt))
      }
      tag(.div, .class("what")) {
        tag(.p, .class("subject")) {
          if let store, let product = event.productShopifyId {
            tag(.a, .href(store.link(product: product, variant: variant(of: group)))) {
              ShopMarkup.text(event.productTitle, limit: 120)
            }
          } else if let store {
            tag(.a, .href(store.link)) { ShopMarkup.text(store.name, limit: 120) }
          } else {
            ShopMarkup.text(event.productTitle, limit: 120)
          }
          if let store, query.store == nil, context.stores.count > 1, event.productShopifyId != nil {
            " "
            tag(.a, .class("shop"), .href(store.link)) { ShopMarkup.text(store.name, limit: 40) }
          }
        }
        tag(.p, .class("changes")) { NewsText.changes(group) }
      }
      if group.isUnread {
        context.form(Link(["activity", "read"]), "inline") {
          for item in query.items { hiddenField(item.name, item.value) }
          hiddenField(next == nil ? "shop" : "next", next ?? group.anchor)
          hiddenField("event", group.events.map { $0.id.uuidString }.joined(separator: ","))
          tag(.button, .set(.type, "submit"), .class("quiet")) {
            "Read"
            NewsText.hidden(": mark as read")
          }
        }
      }
    }
  }

  /// The variant that the news is about, if it is only one.
  private static func variant(of group: ActivityGroup) -> Int64? {
    let variants = Set(group.events.compactMap(\.variantShopifyId))
    return variants.count == 1 ? variants.first : nil
  }

  private static func nothing(_ query: ActivityQuery, _ context: PageContext) -> HTML {
    if context.stores.isEmpty {
      return Frame.empty("You follow no shop yet", "News appears here once a shop is followed and something changes.") {
        tag(.p) { tag(.a, .class("button"), .href(Link(["shops", "add"]))) { "Add a shop" } }
      }
    }
    guard query.isFiltered else {
      return Frame.empty("Nothing has changed", "Everything is as it was when your shops were added. Quiet is normal.")
    }
    return Frame.empty("No matching news", "Nothing in this selection of shops, kinds and dates.") {
      tag(.p) { tag(.a, .href(Link(["activity"]))) { "Show all news" } }
    }
  }
}

extension ActivityGroup {
  /// Whether an event of the row is unread.
  var isUnread: Bool { events.contains { !$0.isRead } }
  /// The name of the row on its page.
  var anchor: String { "e\(events.first?.id.uuidString.prefix(8).lowercased() ?? "")" }
}
