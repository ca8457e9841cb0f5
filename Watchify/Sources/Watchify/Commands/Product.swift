import CofferTerminal
import Foundation
import WatchifyKit
import WatchifyWeb

/// Runs `watchify product`: prints a product with its variants and the history of a price.
func showProduct(_ invocation: Invocation) async throws -> ExitStatus {
  guard let storeText = try invocation.text(at: 0), let text = try invocation.text(at: 1) else {
    throw Command.mistake("'product' needs a STORE and a PRODUCT.", .product)
  }
  let width = try invocation.number(.width, minimum: 12).map { Int(clamping: $0) }
  return try await withSession(invocation) { session in
    let store = try session.store(storeText, .product)
    let detail = try await product(text, store, session)
    let output = Output.standard
    if invocation.has(.json) {
      let shown = try invocation.options[.variant].map { [try variant($0, detail)] } ?? detail.variants
      let wishes = try await session.service.wishes(storeId: store.id, productId: detail.product.shopifyId)
      try output.writeLine(detail.json(store, shown, wishes).line)
    } else {
      let charted = try invocation.options[.variant].map { try variant($0, detail) } ?? liveliest(detail)
      let wishes = try await session.service.wishes(storeId: store.id, productId: detail.product.shopifyId)
      try output.write(page(detail, store, wishes, output.style, width: output.columns))
      if let charted {
        let glyphs = invocation.has(.ascii) ? ChartGlyphs.ascii : .ofEnvironment
        try output.write(
          chart(
            charted, currency: detail.product.currency, width: width ?? min(output.columns, 100), glyphs: glyphs,
            style: output.style))
      }
    }
    try output.flush()
    return .ok
  }
}

/// Returns the product with a handle, id or title, or else the only one with the words in its title.
func product(
  _ text: String, _ store: StoreDTO, _ session: Session, for command: Command = .product
) async throws -> ProductDetailDTO {
  let handle = text.contains("/products/") ? text.split(separator: "/").last.map(String.init) : nil
  let named = handle?.prefix { $0 != "?" && $0 != "#" }
  var found = try await session.service.products(storeId: store.id, named: named.map(String.init) ?? text)
  if found.isEmpty {
    found = try await session.service.products(ProductQuery(storeId: store.id, searchText: text), limit: 6)
  }
  let shown = text.oneLine(limit: 60)
  guard let first = found.first else {
    throw CommandError(
      .notFound, "productNotFound", "\(store.name.oneLine(limit: 60)) has no product '\(shown)'.",
      advice: "Search for it with 'watchify products STORE --search WORDS'.")
  }
  guard found.count == 1 else {
    let names = found.prefix(5).map { "\($0.title.oneLine(limit: 48)) (\($0.handle.oneLine(limit: 60)))" }
    let rest = found.count > 5 ? " and others" : ""
    throw Command.mistake("'\(shown)' may be \(names.joined(separator: ", "))\(rest). Give its handle.", command)
  }
  guard let detail = try await session.service.product(storeId: store.id, shopifyId: first.shopifyId) else {
    throw CommandError(.notFound, "productNotFound", "'\(shown)' has just been deleted.")
  }
  return detail
}

func variant(_ text: String, _ detail: ProductDetailDTO, for command: Command = .product) throws -> VariantDTO {
  let wanted = text.lowercased()
  let exact = detail.variants.filter { $0.title?.lowercased() == wanted || String($0.id) == text }
  let found = exact.isEmpty ? detail.variants.filter { $0.title?.lowercased().contains(wanted) ?? false } : exact
  if let variant = found.first, found.count == 1 { return variant }
  let names = (found.isEmpty ? detail.variants : found).map { $0.title ?? String($0.id) }
  guard found.isEmpty else { throw Command.mistake("--variant may be \(some(names, of: 12)).", command) }
  throw CommandError(
    .notFound, "variantNotFound", "There is no variant '\(text.oneLine(limit: 40))'.",
    advice: "There are \(some(names, of: 12)).")
}

/// Returns the variant whose price changed most; the first one if several are equal.
func liveliest(_ detail: ProductDetailDTO) -> VariantDTO? {
  func spread(_ variant: VariantDTO) -> Decimal {
    let prices = variant.history.map(\.price)
    return (prices.max() ?? 0) - (prices.min() ?? 0)
  }
  return detail.variants.max { left, right in
    // Of equals, the first in the shop's order is chosen below.
    spread(left) < spread(right)
      || spread(left) == spread(right) && left.history.count < right.history.count
  }.map { best in
    detail.variants.first { spread($0) == spread(best) && $0.history.count == best.history.count } ?? best
  }
}

private func page(
  _ detail: ProductDetailDTO, _ store: StoreDTO, _ wishes: [WishDTO], _ style: Style, width: Int
) -> String {
  func paragraph(_ words: String, _ paint: (String) -> String = { $0 }) -> String {
    words.wrapped(to: width).split(separator: "\n").map { paint(String($0)) + "\n" }.joined()
  }
  var text = paragraph(detail.product.title.oneLine(limit: longestTitle), style.bold)
  if detail.isRemoved { text += style.yellow("No longer sold") + "\n" }
  let facts = [detail.vendor, detail.productType].compactMap { $0?.oneLine(limit: 60) }.filter { !$0.isEmpty }
  text += paragraph((facts + [detail.url.oneLine(limit: 2_000)]).joined(separator: " · "))
  if let error = store.lastError {
    let since = store.lastFetchedAt.map { Moment.text($0) } ?? "never"
    text += paragraph("Showing data from \(since): \(error.oneLine())", style.yellow)
  }
  var columns = Columns(.text, .right, .right, .left, .left, .left)
  for variant in detail.variants {
    let currency = variant.history.last?.currency ?? detail.product.currency
    let state = variant.isMissing ? "gone" : variant.available ? "in stock" : "sold out"
    let isThere = variant.available && !variant.isMissing
    columns.add([
      (variant.title ?? "one form").oneLine(limit: longestTitle), Money.text(variant.price, currency),
      variant.compareAtPrice.map { "was \(Money.text($0, currency))" } ?? "", state,
      variant.sku?.oneLine(limit: 64) ?? "", variant.notableLowest?.text() ?? "",
    ]) { isThere ? $1 : $0.dim($1) }
  }
  if !wishes.isEmpty {
    let now = Date()
    text += "\n" + wishes.map { paragraph("Wish \($0.shortID): \($0.sentence(at: now))", style.green) }.joined()
  }
  return text + "\n" + columns.lines(style, indent: "  ", width: width).map { $0 + "\n" }.joined() + "\n"
}

/// Returns the price history of a variant as a chart and a sentence.
func chart(
  _ variant: VariantDTO, currency: String?, width: Int, glyphs: ChartGlyphs, style: Style, until: Date = Date()
) -> String {
  // A chart has one scale, so prices in an earlier currency are omitted.
  let currency = variant.history.last?.currency ?? currency
  let points = variant.history.filter { $0.currency == currency || $0.currency == nil }.map { snapshot in
    StepChart.Point(
      snapshot.capturedAt, value: scaled(snapshot.price), isAvailable: snapshot.available,
      compareAt: snapshot.compareAtPrice.map(scaled).flatMap { $0 > scaled(snapshot.price) ? $0 : nil })
  }
  let chart = StepChart(points, until: until) { Money.text(Price(tenThousandths: $0).decimal, currency) }
  let title = variant.title.map { "Price of \($0.oneLine(limit: longestTitle))" } ?? "Price"
  let lines = chart.lines(width: width, height: 12, glyphs: glyphs, style: style)
  let sentence = chart.sentence
  var text = title.wrapped(to: max(20, width)).split(separator: "\n").map { style.bold(String($0)) + "\n" }.joined()
  text += lines.map { $0 + "\n" }.joined()
  if lines.joined(separator: " ") != sentence { text += chart.sentence(width: max(20, width)) + "\n" }
  return text
}

private func scaled(_ amount: Decimal) -> Int64 { Price("\(amount)")?.tenThousandths ?? 0 }

extension ProductDetailDTO {
  fileprivate func json(_ store: StoreDTO, _ shown: [VariantDTO], _ wishes: [WishDTO]) -> JSON {
    .object(
      [("store", .text(store.name))] + product.members + [
        ("vendor", .optional(vendor)), ("type", .optional(productType)), ("isRemoved", .flag(isRemoved)),
        ("url", .text(url)), ("images", .list(imageURLs.map(JSON.text))),
        ("variants", .list(shown.map { $0.json(product.currency) })),
        ("wishes", .list(wishes.map { .object($0.members) })),
      ])
  }
}

extension VariantDTO {
  fileprivate func json(_ currency: String?) -> JSON {
    .object([
      ("id", .number(id)), ("title", .optional(title)), ("sku", .optional(sku)), ("price", .amount(price)),
      ("compareAtPrice", .amount(compareAtPrice)), ("currency", .optional(history.last?.currency ?? currency)),
      ("isAvailable", .flag(available)), ("isMissing", .flag(isMissing)),
      ("lowest", .list(lowest.map(\.json))), ("notableLowest", notableLowest?.json ?? .none),
      (
        "history",
        .list(
          history.map { point in
            .object([
              ("at", .date(point.capturedAt)), ("price", .amount(point.price)),
              ("compareAtPrice", .amount(point.compareAtPrice)), ("isAvailable", .flag(point.available)),
              ("currency", .optional(point.currency)),
            ])
          })
      ),
    ])
  }
}
