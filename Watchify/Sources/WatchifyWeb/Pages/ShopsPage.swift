import CofferRouter
import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The list of the followed shops.
enum ShopsPage {
  static func page(_ context: PageContext, _ service: StoreService) async throws -> HTTPResponse {
    guard !context.stores.isEmpty else { return AddPage.welcome(context) }
    let search = String((context.request.queryValue("q") ?? "").prefix(ProductListQuery.longestSearch))
    let words = search.foldedForSearch.split(whereSeparator: \.isWhitespace)
    let stores = context.stores.filter { store in
      let text = "\(store.name) \(store.domain)".foldedForSearch
      return words.allSatisfy { text.contains($0) }
    }
    var rows = HTML()
    for store in stores {
      rows.append(row(store, unread: try await service.unreadCount(EventFilter(storeId: store.id)), context))
    }
    let isRemoved = context.request.queryValue("done") == "removed"
    return Frame.page("Shops", .shops, context, isLive: true) {
      tag(.div, .class("head")) {
        tag(.h1) { "Shops" }
        tag(.p, .class("count"), .set(.role, "status")) {
          let all = counted(context.stores.count, "shop")
          stores.count == context.stores.count ? all : "\(grouped(stores.count)) of \(all)"
        }
        tag(.p) { tag(.a, .class("button"), .href(Link(["shops", "add"]))) { "Add a shop" } }
      }
      if isRemoved { tag(.p, .class("done"), .set(.role, "status")) { "The shop and its data are deleted." } }
      if context.stores.count > 1 {
        tag(
          .form, .class("filters"), .set(.method, "get"), .action(Link(["shops"])), .set(.role, "search"),
          .set(.dataAuto, "1")
        ) {
          ProductsPage.searchField("Search names and addresses", search)
          tag(.button, .set(.type, "submit"), .class("quiet")) { "Show" }
        }
      }
      if stores.isEmpty {
        Frame.empty("No matching shops", "Names and addresses must contain every word.") {
          tag(.p) { tag(.a, .href(Link(["shops"]))) { "Show all shops" } }
        }
      } else {
        tag(.ul, .class("shops")) { rows }
      }
    }
  }

  private static func row(_ store: StoreDTO, unread: Int, _ context: PageContext) -> HTML {
    tag(.li) {
      tag(.div, .class("what")) {
        tag(.h2, .class("subject")) { tag(.a, .href(store.link)) { ShopMarkup.text(store.name, limit: 120) } }
        tag(.p, .class("shop")) { facts(store, context).joined(separator: " · ") }
        if let error = store.lastSyncFailure {
          tag(.p, .class("alert")) { ShopPage.trouble(error, store, context) }
        }
      }
      tag(.p, .class("numbers")) {
        if unread > 0 {
          tag(.a, .href(Link(["activity"], [("store", store.id.uuidString.lowercased()), ("unread", "1")]))) {
            "\(grouped(unread)) unread"
          }
        } else {
          tag(.span, .class("quiet-text")) { "nothing unread" }
        }
      }
    }
  }

  /// Returns facts such as "allbirds.com", "692 products", "USD (US)" and "read 14:32".
  static func facts(_ store: StoreDTO, _ context: PageContext) -> [String] {
    let market = [store.currency, store.country.map { "(\($0))" }].compactMap { $0 }.joined(separator: " ")
    let read = store.lastFetchedAt.map { "synced \(context.moments.text($0))" } ?? "never synced"
    return [store.domain, counted(store.cachedProductCount, "product"), market, store.isSyncing ? "syncing now" : read]
      .filter { !$0.isEmpty }
  }
}

/// The page of a shop.
enum ShopPage {
  static func page(
    _ store: StoreDTO, _ context: PageContext, _ service: StoreService, _ container: ModelContainer
  ) async throws -> HTTPResponse {
    let filter = EventFilter(storeId: store.id)
    let window = try await container.settings.get(StorageKeys.activityGroupingWindowMinutes)
    let events = try await service.events(filter, limit: 300)
    let groups = ActivityGroup.groups(of: events, windowMinutes: window).prefix(8)
    let variants = try await service.variantCount(storeId: store.id)
    let newest = try await service.listing(
      ListingQuery(storeId: store.id, sortOrder: .recentlyAdded), limit: 6)
    var query = ActivityQuery()
    query.store = store.id
    var list = ProductListQuery(store: store.id)
    list.sort = .recentlyAdded
    return Frame.page(store.name, .shops, context, isLive: true) {
      heading(store, variants, context)
      notice(store, context)
      tag(.section, .set(.ariaLabelledBy, "news-title")) {
        tag(.div, .class("subhead")) {
          tag(.h2, .id("news-title")) { "Latest news" }
          if !groups.isEmpty { tag(.a, .href(query.link)) { "All news" } }
        }
        if groups.isEmpty {
          tag(.p, .class("note")) { "Nothing has changed since \(context.moments.text(store.addedAt))." }
        } else {
          tag(.ul, .class("news")) {
            for group in groups { ActivityPage.row(group, query, context, namesDays: true) }
          }
        }
      }
      tag(.section, .set(.ariaLabelledBy, "products-title")) {
        tag(.div, .class("subhead")) {
          tag(.h2, .id("products-title")) { "Newest products" }
          tag(.a, .href(ProductListQuery(store: store.id).link)) {
            "All \(counted(store.cachedProductCount, "product"))"
          }
        }
        ProductsPage.list(newest, list, context)
      }
    }
  }

  private static func heading(_ store: StoreDTO, _ variants: Int, _ context: PageContext) -> HTML {
    pieces {
      tag(.div, .class("head")) {
        tag(.h1) { ShopMarkup.text(store.name) }
        tag(.div, .class("actions")) {
          context.button("Sync now", Link(store.path + ["read"]), look: "")
          tag(.a, .class("button quiet"), .href(Link(store.path + ["edit"]))) { "Edit" }
        }
      }
      tag(.p, .class("lead")) {
        let scheme = (try? ShopAddress(store.domain))?.isLoopback == true ? "http" : "https"
        ShopMarkup.outsideLink("\(scheme)://\(store.domain)/", HTML(store.domain))
        " · "
        ShopsPage.facts(store, context).dropFirst().joined(separator: " · ")
        " · \(counted(variants, "variant"))"
      }
    }
  }

  /// Returns what happened last: a result of a form, or why the shop could not be read.
  private static func notice(_ store: StoreDTO, _ context: PageContext) -> HTML {
    let resting = context.rests.first { $0.shop?.domain == store.domain }
    return pieces {
      switch context.request.queryValue("done") {
      case "added":
        tag(.p, .class("done"), .set(.role, "status")) {
          "Added, with \(counted(store.cachedProductCount, "product")). There is no news about what is already there."
          if !context.health.isWatching { " Automatic syncing is off: leave 'watchify watch' running." }
        }
      case "edited": tag(.p, .class("done"), .set(.role, "status")) { "Saved." }
      default: HTML()
      }
      if let resting {
        tag(.div, .class("banner"), .set(.role, "note")) {
          tag(.p) {
            "This shop has asked for a pause. It is synced again after \(context.moments.text(resting.until)); "
            "other shops are synced as usual."
          }
          context.button("End the pause", Link(store.path + ["resume"]))
        }
      } else if let error = store.lastSyncFailure {
        tag(.div, .class("banner"), .set(.role, "note")) {
          tag(.p) { trouble(error, store, context) }
          context.button("Try again", Link(store.path + ["read"]))
        }
      }
    }
  }

  /// Returns sentences about the cause of a failure and what stays valid.
  static func trouble(_ error: SyncFailure, _ store: StoreDTO, _ context: PageContext) -> HTML {
    pieces {
      tag(.strong) { "\(error.errorDescription ?? "Not synced")." }
      " "
      [error.failureReason, error.recoverySuggestion].compactMap { $0 }.map { ShopMarkup.plain($0, limit: 400) }
        .joined(separator: " ")
      if let date = store.lastFetchedAt { " Showing data from \(context.moments.text(date))." }
    }
  }
}
