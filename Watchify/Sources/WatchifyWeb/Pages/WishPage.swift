import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The page of one wish: its state, what it is about, and the form that changes it.
enum WishPage {
  /// The most products that are listed.
  private static let most = 50

  static func page(
    _ wish: WishDTO, _ context: PageContext, _ service: StoreService, _ entry: WishEntry? = nil, error: String? = nil
  ) async throws -> HTTPResponse {
    let isExpired = wish.isExpired(at: context.moments.now)
    let matches = try await service.wish(matches: wish.id, limit: most + 1)
    let entry = entry ?? WishEntry(wish, context.moments)
    var isSearch = false
    if case .search = wish.scope { isSearch = true }
    return Frame.page("A wish", .wishes, context, status: error == nil ? 200 : 422, isLive: error == nil) {
      tag(.h1) { WishesPage.subject(wish, context) }
      tag(.p, .class("lead")) {
        WishesPage.condition(wish)
        " · "
        WishesPage.state(wish, isExpired: isExpired, context)
      }
      if let error { tag(.p, .class("alert"), .set(.role, "alert")) { ShopMarkup.plain(error, limit: 400) } }
      context.form(Link(["wishes", wish.id.uuidString.lowercased(), "edit"]), "wish") {
        WishesPage.fields(entry, isSearch: isSearch, button: "Save")
      }
      tag(.p, .class("note")) {
        "A changed condition is judged like that of a new wish. A percentage still refers to the price of "
        context.moments.element(wish.createdAt, context.moments.shortDay(wish.createdAt))
        ", when the wish was made."
      }
      if isSearch { products(matches, context) }
      tag(.div, .class("actions")) {
        context.button("Remove the wish", Link(["wishes", wish.id.uuidString.lowercased(), "remove"]))
      }
      tag(.p, .class("note")) {
        tag(
          .a, .href(context.feed([("wish", wish.id.uuidString.lowercased())])),
          .set(.type, "application/atom+xml")
        ) { "Its news as a feed" }
      }
    }
  }

  private static func products(_ matches: [WishMatchDTO], _ context: PageContext) -> HTML {
    let shown = matches.prefix(most).map(\.listed)
    return tag(.section, .set(.ariaLabelledBy, "matches")) {
      tag(.h2, .id("matches")) { "Products" }
      if shown.isEmpty { tag(.p, .class("note")) { "Nothing that is listed now is meant by it." } }
      if let count = fulfilled(matches) { tag(.p, .class("note")) { count } }
      if !shown.isEmpty { ProductsPage.list(shown, ProductListQuery(), context) }
      if matches.count > most { tag(.p, .class("note")) { "These are the first \(most)." } }
    }
  }

  /// Returns how many of the products fulfil the wish, which are the first.
  private static func fulfilled(_ matches: [WishMatchDTO]) -> String? {
    let count = matches.prefix(most).count(where: \.isFulfilled)
    return count == 0 ? nil : "The first \(count == 1 ? "one fulfils" : "\(count) fulfil") the wish now."
  }
}
