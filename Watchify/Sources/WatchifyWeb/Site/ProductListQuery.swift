import Foundation
import WatchifyKit

/// The state of a list of products, which is in its address.
struct ProductListQuery: Hashable, Sendable {
  /// The orders, with the texts that `watchify products --sort` takes.
  static let sorts: [(text: String, sort: ProductSort, label: String)] = [
    ("name", .name, "Name"), ("price", .priceLowHigh, "Price, low to high"),
    ("-price", .priceHighLow, "Price, high to low"), ("new", .recentlyAdded, "Newest first"),
  ]
  static let stocks: [(text: String, scope: StockScope, label: String)] = [
    ("all", .all, "Any stock"), ("in", .inStock, "In stock"), ("out", .outOfStock, "Sold out"),
  ]
  static let pageSize = 50
  static let lastPage = 100_000
  /// The maximum length of a search text, in characters.
  static let longestSearch = 200

  var store: UUID?
  var search = ""
  var stock = StockScope.all
  var sort = ProductSort.name
  var page = 1

  init(store: UUID? = nil) { self.store = store }

  /// Creates the state from the items of an address. Unknown names are ignored.
  init(_ items: [(name: String, value: String)], stores: [StoreDTO]) throws {
    for (name, value) in items where !value.isEmpty {
      switch name {
      case "store": store = try knownStore(value, stores).id
      case "q": search = String(value.prefix(Self.longestSearch))
      case "stock":
        guard let known = Self.stocks.first(where: { $0.text == value }) else {
          throw SiteProblem.value("stock", value, "all, in or out")
        }
        stock = known.scope
      case "sort":
        guard let known = Self.sorts.first(where: { $0.text == value }) else {
          throw SiteProblem.value("sort", value, "name, price, -price or new")
        }
        sort = known.sort
      case "page": page = try pageNumber(value, last: Self.lastPage)
      default: break
      }
    }
  }

  /// The items of an address with this state, without those that have their default value.
  var items: [(name: String, value: String)] {
    var items: [(name: String, value: String)] = []
    if let store { items.append(("store", store.uuidString.lowercased())) }
    if !search.isEmpty { items.append(("q", search)) }
    if stock != .all, let known = Self.stocks.first(where: { $0.scope == stock }) {
      items.append(("stock", known.text))
    }
    if sort != .name, let known = Self.sorts.first(where: { $0.sort == sort }) { items.append(("sort", known.text)) }
    if page > 1 { items.append(("page", String(page))) }
    return items
  }

  /// Whether the state narrows the products of its store or stores.
  var isFiltered: Bool { !search.isEmpty || stock != .all }
  var link: Link { Link(["products"], items) }

  /// Returns the state with another page.
  func at(page: Int) -> ProductListQuery {
    var query = self
    query.page = page
    return query
  }

  var listing: ListingQuery {
    ListingQuery(storeId: store, searchText: search, stockScope: stock, sortOrder: sort)
  }
}
