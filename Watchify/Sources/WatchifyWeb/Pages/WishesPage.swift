import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The page of wishes, and their part of a product's page.
enum WishesPage {
  static func page(
    _ context: PageContext, _ service: StoreService, _ entry: WishEntry = WishEntry(), error: String? = nil
  ) async throws -> HTTPResponse {
    let wishes = try await service.wishes()
    let done = context.request.queryValue("done")
    return Frame.page("Wishes", .wishes, context, status: error == nil ? 200 : 422, isLive: error == nil) {
      tag(.div, .class("head")) {
        tag(.h1) { "Wishes" }
        tag(.p, .class("count")) { "\(grouped(wishes.count(where: \.isTrue))) of \(grouped(wishes.count)) true now" }
      }
      if let error { tag(.p, .class("alert"), .set(.role, "alert")) { ShopMarkup.plain(error, limit: 400) } }
      if done == "added" { tag(.p, .class("done"), .set(.role, "status")) { "Your wish is noted." } }
      if done == "edited" { tag(.p, .class("done"), .set(.role, "status")) { "The wish is changed." } }
      if done == "removed" { tag(.p, .class("done"), .set(.role, "status")) { "The wish is removed." } }
      if wishes.isEmpty {
        Frame.empty(
          "No wishes yet",
          "A wish notifies you once when it comes true, and again only after it has been false. Make one below or on "
            + "the page of a product.")
      } else {
        tag(.ul, .class("checks")) {
          for wish in wishes.filter(\.isTrue) + wishes.filter({ !$0.isTrue }) { row(wish, context, namesSubject: true) }
        }
      }
      if !context.stores.isEmpty {
        tag(.section, .set(.ariaLabelledBy, "new-wish")) {
          tag(.h2, .id("new-wish")) { "New wish for products by title" }
          searchForm(entry, context)
        }
      }
    }
  }

  /// Returns the wishes about a product, with a form for another.
  static func section(
    _ wishes: [WishDTO], _ detail: ProductDetailDTO, _ store: StoreDTO, _ context: PageContext
  ) -> HTML {
    tag(.section, .set(.ariaLabelledBy, "wishes-title")) {
      tag(.h2, .id("wishes-title")) { "Wishes" }
      if !wishes.isEmpty {
        tag(.ul, .class("checks")) { for wish in wishes { row(wish, context, namesSubject: false) } }
      }
      if !detail.isRemoved {
        context.form(Link(["wishes"]), "wish") {
          hiddenField("store", store.id.uuidString.lowercased())
          hiddenField("product", String(detail.product.shopifyId))
          if detail.variants.count > 1 {
            let variants = detail.variants.filter { !$0.isMissing }.prefix(250).map { variant in
              (value: String(variant.id), label: ShopMarkup.plain(variant.title ?? "The only variant", limit: 60))
            }
            Frame.select("Variant", "variant", "", [("", "Any variant")] + variants)
          }
          fields(WishEntry(), isSearch: false)
        }
      }
    }
  }

  private static func row(_ wish: WishDTO, _ context: PageContext, namesSubject: Bool) -> HTML {
    let isExpired = wish.isExpired(at: context.moments.now)
    return tag(.li, .class(wish.isTrue ? "ok" : isExpired || wish.obstacle != nil ? "off" : "waiting")) {
      tag(.div, .class("what")) {
        tag(.p, .class("subject")) {
          if namesSubject { subject(wish, context) }
          if !namesSubject { condition(wish) }
          if !namesSubject, let variant = wish.variantTitle {
            ", "
            ShopMarkup.text(variant, limit: 60)
          }
        }
        tag(.p, .class("shop")) {
          if namesSubject {
            condition(wish)
            " · "
          }
          state(wish, isExpired: isExpired, context)
        }
      }
      tag(.a, .class("button quiet small"), .href(wish.link)) {
        "Edit"
        NewsText.hidden(" this wish")
      }
    }
  }

  /// Returns what a wish is about.
  static func subject(_ wish: WishDTO, _ context: PageContext) -> HTML {
    if let product = wish.scope.productId, let store = context.stores.first(where: { $0.id == wish.scope.storeId }) {
      return pieces {
        tag(.a, .href(store.link(product: product))) { ShopMarkup.text(wish.productTitle ?? "A product", limit: 120) }
        if let variant = wish.variantTitle {
          ", "
          ShopMarkup.text(variant, limit: 60)
        }
      }
    }
    guard case .search(let store, let text) = wish.scope else { return HTML("A product that is gone") }
    var query = ProductListQuery(store: store)
    query.search = text
    return pieces {
      tag(.a, .href(query.link)) {
        "“"
        ShopMarkup.text(text, limit: 80)
        "”"
      }
      " in "
      if let name = wish.storeName { ShopMarkup.text(name, limit: 60) } else { "all shops" }
    }
  }

  /// Returns what must hold.
  static func condition(_ wish: WishDTO) -> HTML {
    switch wish.condition {
    case .priceAtMost(let price):
      pieces {
        "at most "
        NewsText.amount(price, wish.currency)
      }
    case .percentOff(let percent):
      pieces {
        "\(percent)\u{A0}% off"
        if let target = wish.targetPrice {
          ", which is "
          NewsText.amount(target, wish.currency)
        }
      }
    case .backInStock: HTML("back in stock")
    case .newMatch: HTML("something new")
    }
  }

  /// Returns whether a wish is true, and until when it is judged.
  static func state(_ wish: WishDTO, isExpired: Bool, _ context: PageContext) -> HTML {
    pieces {
      if isExpired {
        "expired"
      } else if let obstacle = wish.obstacle {
        switch obstacle {
        case .otherCurrency(let currency): "cannot be judged: the shop serves prices in \(ShopMarkup.plain(currency))"
        case .notListed: "cannot be judged: the shop does not list it at present"
        case .tooManyMatches(let most): "cannot be judged: more than \(most) products of a shop fulfil it"
        }
      } else if wish.isTrue {
        tag(.strong, .class("true")) { "true now" }
        if wish.matchCount > 1 { " for \(counted(wish.matchCount, "product"))" }
      } else {
        "not yet"
        if let price = wish.currentPrice {
          ", now "
          NewsText.amount(price, wish.currency)
        }
      }
      if let expiry = wish.expiresAt, !isExpired {
        " · until \(context.moments.shortDay(expiry.addingTimeInterval(-1)))"
      }
    }
  }

  // MARK: Forms

  private static func searchForm(_ entry: WishEntry, _ context: PageContext) -> HTML {
    context.form(Link(["wishes"]), "wish") {
      tag(.label, .class("field search")) {
        tag(.span, .class("label")) { "Words in the title" }
        tag(
          .input, .set(.type, "text"), .set(.name, "q"), .set(.value, entry.search), .flag(.required),
          .set(.placeholder, "rain jacket"), .set(.maxlength, "200"), .set(.autocomplete, "off"))
      }
      Frame.storeField(UUID(uuidString: entry.store), context)
      fields(entry, isSearch: true)
    }
  }

  /// Returns the fields for a condition and an end, and the button.
  static func fields(_ entry: WishEntry, isSearch: Bool, button: String = "Wish") -> HTML {
    var kinds = [("price", "Price at most"), ("percent", "Percent off"), ("stock", "Back in stock")]
    if isSearch { kinds.append(("new", "Something new")) }
    return pieces {
      Frame.select("Condition", "kind", entry.kind, kinds.map { (value: $0.0, label: $0.1) })
      tag(.label, .class("field short")) {
        tag(.span, .class("label")) { "Amount or percent" }
        tag(
          .input, .set(.type, "text"), .set(.name, "amount"), .set(.value, entry.amount), .set(.inputmode, "decimal"),
          .set(.placeholder, "179.90"), .set(.maxlength, "20"), .set(.autocomplete, "off"))
      }
      if isSearch {
        tag(.label, .class("field short")) {
          tag(.span, .class("label")) { "Currency" }
          tag(
            .input, .set(.type, "text"), .set(.name, "currency"), .set(.value, entry.currency), .set(.maxlength, "3"),
            .set(.placeholder, "shop's"), .set(.autocapitalize, "characters"), .set(.autocomplete, "off"))
        }
      }
      tag(.label, .class("field date")) {
        tag(.span, .class("label")) { "Until" }
        tag(.input, .set(.type, "date"), .set(.name, "until"), .set(.value, entry.until))
      }
      tag(.button, .set(.type, "submit")) { button }
    }
  }
}

extension WishDTO {
  /// The link to the wish's page.
  var link: Link { Link(["wishes", id.uuidString.lowercased()]) }
}
