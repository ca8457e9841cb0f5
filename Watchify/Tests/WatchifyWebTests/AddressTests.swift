import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

@Suite("The state of a page is in its address") struct AddressTests {
  private let stores = [
    StoreDTO(id: UUID(), name: "Mat House", domain: "mats.example", addedAt: .distantPast),
    StoreDTO(id: UUID(), name: "Bag House", domain: "bags.example", addedAt: .distantPast),
  ]
  private let moments = Moments(now: Date(timeIntervalSince1970: 1_790_000_000))

  @Test func activity() throws {
    for store in stores.map(\.id) + [nil] {
      for kind in ["", "price", "stock", "priceDropped", "storeClosed"] {
        for since in ["", "today", "7d", "2026-01-31"] {
          for page in [1, 7] {
            var query = ActivityQuery()
            query.store = store
            query.kind = try #require(ActivityQuery.Kind(kind))
            (query.since, query.unreadOnly, query.page) = (since, page == 7, page)
            let items = HTTPRequest("GET", query.link.text).query
            #expect(try ActivityQuery(items, stores: stores, moments: moments) == query)
          }
        }
      }
    }
  }

  @Test func products() throws {
    for search in ["", "wool & silk", "100% ü +=?#/", "<script>"] {
      for stock in StockScope.allCases {
        for sort in ProductSort.allCases {
          var query = ProductListQuery(store: stores[1].id)
          (query.search, query.stock, query.sort, query.page) = (search, stock, sort, 3)
          #expect(try ProductListQuery(HTTPRequest("GET", query.link.text).query, stores: stores) == query)
        }
      }
    }
  }

  @Test("Fields that a form leaves empty have their default value")
  func emptyFields() throws {
    let items = [("store", ""), ("type", ""), ("since", ""), ("q", "")].map { (name: $0.0, value: $0.1) }
    #expect(try ActivityQuery(items, stores: stores, moments: moments) == ActivityQuery())
    #expect(try ProductListQuery(items, stores: stores) == ProductListQuery())
  }
}
