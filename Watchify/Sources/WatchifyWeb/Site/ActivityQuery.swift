import Foundation
import WatchifyKit

/// The state of the activity page, which is in its address.
struct ActivityQuery: Hashable, Sendable {
  /// The kinds of news.
  enum Kind: Hashable, Sendable {
    case all
    case category(ActivityGroup.Category)
    case type(ChangeType)

    var text: String {
      switch self {
      case .all: ""
      case .category(let category): category.rawValue.lowercased()
      case .type(let type): type.rawValue
      }
    }

    init?(_ text: String) {
      if text.isEmpty {
        self = .all
      } else if let category = ActivityGroup.Category.allCases.first(where: { $0.rawValue.lowercased() == text }) {
        self = .category(category)
      } else if let type = ChangeType(rawValue: text) {
        self = .type(type)
      } else {
        return nil
      }
    }

    var types: [ChangeType]? {
      switch self {
      case .all: nil
      case .category(let category): ChangeType.allCases.filter { $0.category == category }
      case .type(let type): [type]
      }
    }
  }

  var store: UUID?
  var kind = Kind.all
  /// The period, as `watchify activity --since` takes it; empty for all news.
  var since = ""
  var unreadOnly = false
  var page = 1

  /// The last page that is shown: the cost of a page grows with its number.
  static let lastPage = 200

  init() {}

  /// Creates the state from the items of an address or a form. Unknown names are ignored, unknown values are not: a
  /// form must not affect more than its page showed.
  init(_ items: [(name: String, value: String)], stores: [StoreDTO], moments: Moments) throws {
    for (name, value) in items where !value.isEmpty {
      switch name {
      case "store": store = try knownStore(value, stores).id
      case "type":
        guard let kind = Kind(value) else {
          throw SiteProblem.value("type", value, "price, stock, product, store or one kind such as priceDropped")
        }
        self.kind = kind
      case "since":
        since = value
        guard start(moments) != nil else {
          throw SiteProblem.value("since", value, "today, a number of days such as 7d, or a date such as 2026-01-31")
        }
      case "unread": unreadOnly = value == "1"
      case "page": page = try pageNumber(value, last: Self.lastPage)
      default: break
      }
    }
  }

  /// The items of an address with this state, without those that have their default value.
  var items: [(name: String, value: String)] {
    var items: [(name: String, value: String)] = []
    if let store { items.append(("store", store.uuidString.lowercased())) }
    if kind != .all { items.append(("type", kind.text)) }
    if !since.isEmpty { items.append(("since", since)) }
    if unreadOnly { items.append(("unread", "1")) }
    if page > 1 { items.append(("page", String(page))) }
    return items
  }

  /// Whether the state narrows the news.
  var isFiltered: Bool { store != nil || kind != .all || !since.isEmpty || unreadOnly }

  /// The link to the page with this state.
  var link: Link { Link(["activity"], items) }

  /// Returns the state with another page.
  func at(page: Int) -> ActivityQuery {
    var query = self
    query.page = page
    return query
  }

  /// Returns the filter of events.
  func filter(_ moments: Moments) -> EventFilter {
    EventFilter(storeId: store, changeTypes: kind.types, startDate: start(moments), unreadOnly: unreadOnly)
  }

  private func start(_ moments: Moments) -> Date? {
    if since == "today" { return moments.startOfDay(before: 0) }
    if since.hasSuffix("d"), let days = Int(since.dropLast()), (1...36_500).contains(days) {
      return moments.startOfDay(before: days - 1)
    }
    return moments.date(since)
  }
}

/// Returns the store that an item of an address names.
func knownStore(_ text: String, _ stores: [StoreDTO]) throws -> StoreDTO {
  guard let id = UUID(uuidString: text), let store = stores.first(where: { $0.id == id }) else {
    throw SiteProblem.noShop
  }
  return store
}

/// Returns a page number.
func pageNumber(_ text: String, last: Int) throws -> Int {
  guard let page = Int(text), (1...last).contains(page) else {
    throw SiteProblem.value("page", text, "a number from 1 to \(last)")
  }
  return page
}
