import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The list of the products of one shop or of all shops.
enum ProductsPage {
  static func page(_ context: PageContext, _ service: StoreService) async throws -> HTTPResponse {
    let query = try ProductListQuery(context.request.query, stores: context.stores)
    let offset = (query.page - 1) * ProductListQuery.pageSize
    let products = try await service.listing(query.listing, offset: offset, limit: ProductListQuery.pageSize)
    let count = try await service.listingCount(query.listing)
    let store = context.stores.first { $0.id == query.store }
    return Frame.page(store.map { "Products of \($0.name)" } ?? "Products", .products, context) {
      tag(.div, .class("head")) {
        tag(.h1) { "Products" }
        tag(.p, .class("count"), .set(.role, "status")) { range(offset, products.count, count) }
      }
      filters(query, context)
      if products.isEmpty {
        nothing(query, count, context)
      } else {
        list(products, query, context)
        Frame.pager(query.page, hasMore: offset + products.count < count, label: "Pages of products") {
          query.at(page: $0).link
        }
      }
    }
  }

  private static func range(_ offset: Int, _ shown: Int, _ count: Int) -> String {
    if shown == count { return counted(count, "product") }
    if shown == 0 { return "None of \(counted(count, "product"))" }
    return "\(grouped(offset + 1))–\(grouped(offset + shown)) of \(counted(count, "product"))"
  }

  private static func filters(_ query: ProductListQuery, _ context: PageContext) -> HTML {
    let stocks = ProductListQuery.stocks.map { (value: $0.text, label: $0.label) }
    let sorts = ProductListQuery.sorts.map { (value: $0.text, label: $0.label) }
    let stock = ProductListQuery.stocks.first { $0.scope == query.stock }?.text ?? "all"
    let sort = ProductListQuery.sorts.first { $0.sort == query.sort }?.text ?? "name"
    return tag(
      .form, .class("filters"), .set(.method, "get"), .action(Link(["products"])), .set(.role, "search"),
      .set(.dataAuto, "1")
    ) {
      searchField("Search titles", query.search)
      Frame.storeField(query.store, context)
      Frame.select("Stock", "stock", stock, stocks)
      Frame.select("Order", "sort", sort, sorts)
      tag(.button, .set(.type, "submit"), .class("quiet")) { "Show" }
      if query.isFiltered || query.store != nil {
        tag(.a, .class("reset"), .href(Link(["products"]))) { "Show all" }
      }
    }
  }

  /// Returns the field `q` of a list's filters. With scripts the list follows while somebody types.
  static func searchField(_ label: String, _ value: String) -> HTML {
    tag(.label, .class("field search")) {
      tag(.span, .class("label")) { label }
      tag(
        .input, .set(.type, "search"), .set(.name, "q"), .set(.value, value), .set(.placeholder, label),
        .set(.maxlength, String(ProductListQuery.longestSearch)), .set(.autocomplete, "off"),
        .set(.spellcheck, "false"))
    }
  }

  /// Returns products as rows.
  static func list(_ products: [ListedProductDTO], _ query: ProductListQuery, _ context: PageContext) -> HTML {
    let namesStores = query.store == nil && context.stores.count > 1
    return tag(.ul, .class("products")) {
      for item in products { row(item, namesStores: namesStores, context) }
    }
  }

  private static func row(_ item: ListedProductDTO, namesStores: Bool, _ context: PageContext) -> HTML {
    let product = item.product
    let path = ["shops", item.storeId.uuidString.lowercased(), "products", String(product.shopifyId)]
    let picture = context.picture(item.storeId, product.shopifyId, product.imageURL)
    return tag(.li, .class(product.cachedIsAvailable ? nil : "soldout")) {
      if context.pictures != .off {
        tag(.span, .class("thumb")) {
          if let picture {
            tag(
              .img, .src(picture), .set(.alt, ""), .set(.loading, "lazy"), .set(.width, "48"), .set(.height, "48"),
              .set(.decoding, "async"), .set(.referrerPolicy, "no-referrer"))
          }
        }
      }
      tag(.div, .class("what")) {
        tag(.p, .class("subject")) { tag(.a, .href(Link(path))) { ShopMarkup.text(product.title, limit: 120) } }
        if namesStores { tag(.p, .class("shop")) { ShopMarkup.text(item.storeName, limit: 60) } }
      }
      tag(.div, .class("price")) {
        NewsText.amount(product.cachedPrice, product.currency)
        tag(.span, .class("stock")) {
          if let lowest = product.lowest?.text(at: context.moments.now) {
            tag(.span, .class("lowest-badge")) { lowest }
            " · "
          }
          product.cachedIsAvailable ? "in stock" : "sold out"
        }
      }
    }
  }

  private static func nothing(_ query: ProductListQuery, _ count: Int, _ context: PageContext) -> HTML {
    if context.stores.isEmpty {
      return Frame.empty("You follow no shop yet", "Its products appear here as soon as it is added.") {
        tag(.p) { tag(.a, .class("button"), .href(Link(["shops", "add"]))) { "Add a shop" } }
      }
    }
    if query.page > 1, count > 0 {
      return Frame.empty("The list is shorter than that", "It has \(counted(count, "product")).") {
        tag(.p) { tag(.a, .href(query.at(page: 1).link)) { "To its first page" } }
      }
    }
    guard query.isFiltered else { return Frame.empty("No products", "The shop lists no products at present.") }
    return Frame.empty("No matching products", "Titles must contain every word, regardless of case and accents.") {
      tag(.p) { tag(.a, .href(ProductListQuery(store: query.store).link)) { "Show all products" } }
    }
  }
}
