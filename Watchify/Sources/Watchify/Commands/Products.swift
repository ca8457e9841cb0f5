import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify products`: lists the products of a store.
func listProducts(_ invocation: Invocation) async throws -> ExitStatus {
  let scope = try choice(invocation, .stock, ["all": .all, "in": .inStock, "out": .outOfStock], StockScope.all)
  let sort = try choice(
    invocation, .sort,
    ["name": .name, "price": .priceLowHigh, "-price": .priceHighLow, "new": .recentlyAdded], ProductSort.name)
  let limit = Int(clamping: try invocation.number(.limit, minimum: 1) ?? 50)
  let offset = Int(clamping: try invocation.number(.offset, minimum: 0) ?? 0)
  return try await withSession(invocation) { session in
    guard let store = try session.stores(invocation).first else { throw Command.mistake("Name a STORE.", .products) }
    let query = ProductQuery(
      storeId: store.id, searchText: invocation.options[.search] ?? "", stockScope: scope, sortOrder: sort)
    let products = try await session.service.products(query, offset: offset, limit: min(limit, 1_000_000))
    let count = try await session.service.productCount(query)
    let output = Output.standard
    if invocation.has(.json) {
      try output.writeLine(
        JSON.object([
          ("store", .text(store.name)), ("total", .number(count)), ("offset", .number(offset)),
          ("products", .list(products.map { .object($0.members) })),
        ]).line)
    } else {
      try output.writeText(heading(store, products.count, count, offset), style: output.style.dim)
      try output.write(table(products))
    }
    try output.flush()
    return .ok
  }
}

/// Returns the heading, such as "Mat House · demo.example · 12 of 48 products · read 14:02"
private func heading(_ store: StoreDTO, _ shown: Int, _ count: Int, _ offset: Int) -> String {
  let numbers =
    shown == count
    ? counted(count, "product")
    : shown == 0
      ? "none of \(counted(count, "product"))"
      : "\(grouped(offset + 1))-\(grouped(offset + shown)) of \(counted(count, "product"))"
  let error = store.lastError == nil ? "" : ", and the last attempt failed: see 'watchify doctor'"
  let read = store.lastFetchedAt.map { "synced \(Moment.text($0))\(error)" } ?? "never synced"
  return [store.name.oneLine(limit: longestTitle), store.domain, numbers, read].joined(separator: " · ")
}

private func table(_ products: [ProductDTO]) -> Columns {
  var columns = Columns(.text, .right, .left, .left, .left)
  for product in products {
    let isAvailable = product.cachedIsAvailable
    columns.add([
      product.title.oneLine(limit: longestTitle), Money.text(product.cachedPrice, product.currency),
      isAvailable ? "in stock" : "sold out", product.handle.oneLine(limit: longestTitle),
      product.lowest?.text() ?? "",
    ]) { isAvailable ? $1 : $0.dim($1) }
  }
  return columns
}

/// Returns the value that an option's word denotes; `usual` if the option is not given.
private func choice<Value>(
  _ invocation: Invocation, _ option: Option, _ values: KeyValuePairs<String, Value>, _ usual: Value
) throws -> Value {
  guard let word = invocation.options[option] else { return usual }
  guard let value = values.first(where: { $0.key == word.lowercased() })?.value else {
    let names = values.map(\.key).joined(separator: ", ")
    throw Command.mistake("\(option.name) takes one of \(names).", invocation.command)
  }
  return value
}

extension ProductDTO {
  /// The members of the product's JSON object.
  var members: [(StaticString, JSON)] {
    [
      ("id", .number(shopifyId)), ("title", .text(title)), ("handle", .text(handle)), ("price", .amount(cachedPrice)),
      ("currency", .optional(currency)), ("isAvailable", .flag(cachedIsAvailable)), ("firstSeenAt", .date(firstSeenAt)),
      ("image", .optional(imageURL)), ("lowest", lowest?.json ?? .none),
    ]
  }
}
