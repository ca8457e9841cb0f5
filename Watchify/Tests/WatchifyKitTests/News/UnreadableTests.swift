import Foundation
import Testing

@testable import WatchifyKit

/// Undecodable entries, which count as unknown, not as removed.
@Suite(.timeLimit(.minutes(15))) struct UnreadableTests {
  private let whole = product(1, prices: ["10", "12"])
  private var without: ShopifyProduct {
    var product = whole
    product.variants.removeLast()
    return product
  }

  private func sync(
    _ workshop: Workshop, _ id: UUID, _ products: [ShopifyProduct], _ unreadable: Set<UnreadableEntry> = [],
    nameless: Int = 0
  ) async throws -> [ChangeType] {
    workshop.shop.serve(products, unreadable: unreadable, nameless: nameless)
    return try await workshop.sync(id).map(\.changeType)
  }

  @Test("A variant whose price was unreadable for long, or that was absent once, is not back in stock")
  func sizes() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([whole])
      for _ in 0..<3 {
        #expect(try await sync(workshop, id, [without], [UnreadableEntry(product: 1, variant: 101)]).isEmpty)
      }
      #expect(try await sync(workshop, id, [without], [UnreadableEntry(product: 1, variant: -1)]).isEmpty)
      let detail = try await workshop.service.product(storeId: id, shopifyId: 1)
      #expect(detail?.variants.map(\.isMissing) == [false, false])
      #expect(try await sync(workshop, id, [whole]).isEmpty)
      #expect(try await sync(workshop, id, [without]).isEmpty)
      #expect(try await sync(workshop, id, [whole]).isEmpty, "absent once")
      for _ in 0..<2 { #expect(try await sync(workshop, id, [without]).isEmpty) }
      #expect(try await sync(workshop, id, [whole]) == [.backInStock], "some shops do not list what is sold out")
      #expect(try await sync(workshop, id, [without], [UnreadableEntry(product: 1, variant: 101)]).isEmpty)
      var sold = whole
      sold.variants[1].available = false
      #expect(try await sync(workshop, id, [sold]) == [.outOfStock], "changes in the meantime are reported")
    }
  }

  @Test("A permanently undecodable product does not prevent the removal of others", arguments: [true, false])
  func removal(isNamed: Bool) async throws {
    try await Workshop.use { workshop in
      let unreadable: Set = isNamed ? [UnreadableEntry(product: 9)] : []
      workshop.shop.serve([product(1), product(2)], unreadable: unreadable, nameless: isNamed ? 0 : 1)
      let id = try await workshop.service.addStore(name: nil, domain: "mats.example")
      workshop.clock.turn(61)
      let store = try #require(try await workshop.service.stores().first)
      #expect(store.unreadableProducts == 1 && store.unreadableVariants == 0 && store.lastError == nil)
      let nameless = isNamed ? 0 : 1
      #expect(try await sync(workshop, id, [product(1)], unreadable, nameless: nameless).isEmpty)
      #expect(try await sync(workshop, id, [product(1)], unreadable, nameless: nameless) == [.productRemoved])
    }
  }

  @Test("A known product that becomes undecodable is not removed, with or without its id")
  func unknown() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2)])
      for _ in 0..<4 {
        #expect(try await sync(workshop, id, [product(1)], [UnreadableEntry(product: 2)]).isEmpty)
      }
      for _ in 0..<4 { #expect(try await sync(workshop, id, [product(1)], nameless: 1).isEmpty) }
      #expect(await workshop.service.fetchProductCount(storeId: id) == 2)
      #expect(try await sync(workshop, id, [product(1), product(2, prices: ["80"])]) == [.priceDropped])
      #expect(try await workshop.service.stores().first?.unreadableProducts == 0)
    }
  }

  @Test("Neither a product that loses its id nor an entry without one prevents removals")
  func nameless() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2), product(3), product(4), product(5)])
      for _ in 0..<3 {
        let rest = (1...4).map { product($0) }
        #expect(try await sync(workshop, id, rest, nameless: 1).isEmpty, "the fifth has no id now")
      }
      #expect(try await sync(workshop, id, [1, 2, 3].map { product($0) }, nameless: 1).isEmpty)
      #expect(try await sync(workshop, id, [1, 2, 3].map { product($0) }, nameless: 1) == [.productRemoved])
      #expect(try await workshop.service.stores().first?.unreadableProducts == 1)
      // A second entry appears in the read in which the third product disappears.
      for _ in 0..<3 { #expect(try await sync(workshop, id, [1, 2].map { product($0) }, nameless: 2).isEmpty) }
      #expect(try await sync(workshop, id, [product(1)], nameless: 2).isEmpty)
      #expect(try await sync(workshop, id, [product(1)], nameless: 2) == [.productRemoved])
      // An entry disappears: one more product counts as missing.
      for news in [[], [ChangeType.productRemoved]] {
        #expect(try await sync(workshop, id, [product(1)], nameless: 1) == news)
      }
      #expect(try await workshop.service.stores().first?.unreadableProducts == 1)
    }
  }

  @Test("An entry without an id that appears while nothing is missing is none of the products removed later")
  func further() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2)])
      #expect(try await sync(workshop, id, [product(1), product(2)], nameless: 3).isEmpty)
      #expect(try await sync(workshop, id, [product(1)], nameless: 3).isEmpty)
      #expect(try await sync(workshop, id, [product(1)], nameless: 3) == [.productRemoved])
    }
  }

  @Test("Products that were undecodable when the store was added are no news later")
  func later() async throws {
    try await Workshop.use { workshop in
      workshop.shop.serve(
        [without], unreadable: [UnreadableEntry(product: 2), UnreadableEntry(product: 1, variant: 101)])
      let id = try await workshop.service.addStore(name: nil, domain: "mats.example")
      workshop.clock.turn(61)
      let store = try #require(try await workshop.service.stores().first)
      #expect(store.unreadableProducts == 1 && store.unreadableVariants == 1)
      #expect(try await sync(workshop, id, [whole, product(2)]).isEmpty)
      #expect(try await sync(workshop, id, [whole, product(2), product(3)]) == [.newProduct])
    }
  }
}
