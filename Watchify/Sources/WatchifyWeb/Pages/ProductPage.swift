import CofferTerminal
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The page of a product: every variant with its history.
enum ProductPage {
  /// The number of variants whose charts one page shows.
  static let chartsPerPage = 40

  static func page(
    _ detail: ProductDetailDTO, _ store: StoreDTO, _ context: PageContext, _ service: StoreService
  ) async throws -> HTTPResponse {
    let page = try context.request.queryValue("page").map { try pageNumber($0, last: 1_000) } ?? 1
    let wanted = context.request.queryValue("variant").flatMap { Int64($0) }
    let open = detail.variants.first { $0.id == wanted } ?? liveliest(detail)
    // A link to a variant leads to its chart, on whichever page it is.
    let index = wanted.flatMap { id in detail.variants.firstIndex { $0.id == id } }
    let start = (index.map { $0 / chartsPerPage + 1 } ?? page).advanced(by: -1) * chartsPerPage
    let shown = Array(detail.variants.dropFirst(start).prefix(chartsPerPage))
    let wishes = try await service.wishes(storeId: store.id, productId: detail.product.shopifyId)
    return Frame.page(detail.product.title, .products, context, isLive: true) {
      tag(.article, .class("product")) {
        heading(detail, store, context)
        if let error = store.lastSyncFailure {
          tag(.div, .class("banner"), .set(.role, "note")) { tag(.p) { ShopPage.trouble(error, store, context) } }
        }
        if let open, shown.contains(open) { chart(open, detail, context, isOnly: true) }
        variants(shown, detail, context)
        WishesPage.section(wishes, detail, store, context)
        let others = shown.filter { $0.id != open?.id }
        if !others.isEmpty {
          tag(.section, .class("others"), .set(.ariaLabelledBy, "others-title")) {
            tag(.h2, .id("others-title")) { "Price histories of the other variants" }
            for variant in others { chart(variant, detail, context, isOnly: false) }
          }
        }
        Frame.pager(
          start / chartsPerPage + 1, hasMore: start + shown.count < detail.variants.count, label: "Pages of variants"
        ) { Link(store.path + ["products", String(detail.product.shopifyId)], [("page", String($0))]) }
      }
    }
  }

  private static func heading(_ detail: ProductDetailDTO, _ store: StoreDTO, _ context: PageContext) -> HTML {
    let facts = [detail.vendor, detail.productType].compactMap { $0 }.filter { !$0.isEmpty && $0 != store.name }
    let picture = context.picture(store.id, detail.product.shopifyId, detail.imageURLs.first)
    return tag(.header, .class(picture == nil ? "title" : "title pictured")) {
      if let picture {
        tag(
          .img, .src(picture), .set(.alt, ""), .set(.width, "120"), .set(.height, "120"), .set(.decoding, "async"),
          .set(.referrerPolicy, "no-referrer"))
      }
      tag(.div) {
        tag(.p, .class("eyebrow")) {
          tag(.a, .href(store.link)) { ShopMarkup.text(store.name, limit: 80) }
          for fact in facts {
            " · "
            ShopMarkup.text(fact, limit: 80)
          }
        }
        tag(.h1) { ShopMarkup.text(detail.product.title) }
        if !detail.product.title.unicodeScalars.dropFirst(ShopMarkup.longestText).isEmpty {
          tag(.details) {
            tag(.summary) { "The whole title" }
            tag(.p) { ShopMarkup.text(detail.product.title, limit: 4_000) }
          }
        }
        tag(.p, .class("lead")) {
          price(detail)
          if detail.isRemoved { tag(.strong, .class("alert")) { " · no longer sold" } }
        }
        tag(.p) { ShopMarkup.outsideLink(detail.url, HTML("Open in the shop ↗")) }
      }
    }
  }

  /// Returns the price, or the range of prices of the listed variants, and the stock.
  private static func price(_ detail: ProductDetailDTO) -> HTML {
    let listed = detail.variants.filter { !$0.isMissing }
    let prices = listed.map(\.price)
    let currency = detail.product.currency
    let available = listed.count(where: \.available)
    let stock =
      listed.count < 2
      ? (available > 0 ? "in stock" : "sold out")
      : available == 0 ? "sold out" : "\(grouped(available)) of \(grouped(listed.count)) in stock"
    return pieces {
      tag(.strong) {
        NewsText.amount(prices.min() ?? detail.product.cachedPrice, currency)
        if let low = prices.min(), let high = prices.max(), low < high {
          " – "
          NewsText.amount(high, currency)
        }
      }
      " · \(stock)"
    }
  }

  private static func variants(_ variants: [VariantDTO], _ detail: ProductDetailDTO, _ context: PageContext) -> HTML {
    tag(.section, .set(.ariaLabelledBy, "variants-title")) {
      tag(.h2, .id("variants-title")) { detail.variants.count == 1 ? "Today" : "Variants" }
      tag(.table, .class("variants")) {
        tag(.thead) {
          tag(.tr) {
            tag(.th, .set(.scope, "col")) { "Variant" }
            tag(.th, .set(.scope, "col"), .class("amount")) { "Price" }
            tag(.th, .set(.scope, "col")) { "Stock" }
            tag(.th, .set(.scope, "col"), .class("wide")) { "SKU" }
          }
        }
        tag(.tbody) { for variant in variants { row(variant, detail, context) } }
      }
    }
  }

  private static func row(_ variant: VariantDTO, _ detail: ProductDetailDTO, _ context: PageContext) -> HTML {
    let currency = variant.history.last?.currency ?? detail.product.currency
    let isThere = variant.available && !variant.isMissing
    return tag(.tr, .class(isThere ? nil : "soldout")) {
      tag(.th, .set(.scope, "row")) { tag(.a, .href(.anchor("v\(variant.id)"))) { name(of: variant) } }
      tag(.td, .class("amount")) {
        if let compareAt = variant.compareAtPrice {
          tag(.del) {
            NewsText.hidden("crossed out ")
            Money.text(compareAt, currency)
          }
          " "
        }
        Money.text(variant.price, currency)
      }
      tag(.td, .class("stock")) {
        variant.isMissing ? "gone" : variant.available ? "in stock" : "sold out"
        if let lowest = variant.notableLowest?.text(at: context.moments.now) {
          " · "
          tag(.span, .class("lowest-badge")) { lowest }
        }
      }
      tag(.td, .class("wide sku")) { variant.sku.map { ShopMarkup.text($0, limit: 64) } }
    }
  }

  private static func name(of variant: VariantDTO) -> HTML {
    variant.title.map { ShopMarkup.text($0, limit: 120) } ?? HTML("Only variant")
  }

  private static func chart(
    _ variant: VariantDTO, _ detail: ProductDetailDTO, _ context: PageContext, isOnly: Bool
  ) -> HTML {
    let now = context.moments.now
    guard let chart = PriceChart(variant, currency: detail.product.currency, until: now) else { return HTML() }
    let id = "v\(variant.id)"
    let figure = chart.figure(variant, id: id, context.moments)
    guard !isOnly else {
      return tag(.section, .id(id), .class("main-chart"), .set(.ariaLabelledBy, "\(id)-head")) {
        tag(.h2, .id("\(id)-head")) {
          "Price"
          if variant.title != nil {
            " of "
            name(of: variant)
          }
        }
        figure
      }
    }
    return tag(.details, .class("variant")) {
      tag(.summary) {
        name(of: variant)
        " "
        NewsText.amount(variant.price, chart.currency)
        tag(.span, .class("quiet-text")) {
          let moves = chart.line.count { $0.x1 == $0.x2 }
          moves == 0 ? " · has not changed" : " · \(counted(moves, "change"))"
        }
      }
      // Browsers open the details around the target of a link.
      tag(.div, .id(id)) { figure }
    }
  }

  /// Returns the variant whose price changed most; the first one if several are equal.
  private static func liveliest(_ detail: ProductDetailDTO) -> VariantDTO? {
    func rank(_ variant: VariantDTO) -> (Decimal, Int) {
      let prices = variant.history.map(\.price)
      return ((prices.max() ?? 0) - (prices.min() ?? 0), variant.history.count)
    }
    var best = detail.variants.first
    for variant in detail.variants.dropFirst() {
      if let current = best, rank(current) < rank(variant) { best = variant }
    }
    return best
  }
}
