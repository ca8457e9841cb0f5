import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

@Suite("A shop that moves to another address", .serialized)
struct MoveTests {
  @Test("The history is kept, the old address is not requested, headers are not taken along")
  func moves() async throws {
    try await Workshop.use { workshop in
      workshop.shop.serve([product(1), product(2)])
      let secret = StoreHeader(name: "Signature", value: "secret-7")
      let id = try await workshop.service.addStore(name: "Mats", domain: "old.example", headers: [secret])
      workshop.shop.fail(SyncFailure.moved(to: "new.example"))
      workshop.clock.turn(61)
      await #expect(throws: SyncFailure.moved(to: "new.example")) { try await workshop.service.sync(id) }
      #expect(try await workshop.service.stores().first?.cachedProductCount == 2)

      workshop.shop.serve([product(2), product(3)])
      workshop.shop.list(onlyAt: "new.example")
      let before = workshop.shop.requests.count
      #expect(try await workshop.service.moveStore(id: id, to: "https://www.new.example/x") == "new.example")
      let store = try #require(try await workshop.service.stores().first)
      #expect(store.domain == "new.example" && store.name == "Mats" && store.id == id && store.lastError == nil)
      #expect(store.cachedProductCount == 2 && store.lastFetchedAt != nil)
      #expect(try await workshop.service.headers(storeId: id).isEmpty)
      workshop.clock.turn(61)
      let news = try await workshop.service.sync(id)
      #expect(news.map(\.changeType) == [.newProduct])
      let requests = workshop.shop.requests[before...]
      #expect(requests.allSatisfy { $0.domain == "new.example" && $0.headers.isEmpty }, "\(requests)")
    }
  }

  @Test("Another shop, a followed one, a dead address and an invalid one change nothing")
  func refusals() async throws {
    try await Workshop.use { workshop in
      workshop.shop.serve([product(1)])
      let id = try await workshop.service.addStore(name: nil, domain: "old.example")
      workshop.shop.serve([product(9)])
      let other = try await workshop.service.addStore(name: "Other", domain: "other.example")
      let service = workshop.service
      await #expect(throws: WatchifyError.otherShop(address: "third.example")) {
        try await service.moveStore(id: id, to: "third.example")
      }
      await #expect(throws: WatchifyError.alreadyFollowed(name: "Other", id: other)) {
        try await service.moveStore(id: id, to: "other.example")
      }
      await #expect(throws: ShopAddress.Invalid.self) { try await service.moveStore(id: id, to: "8.8.8.8") }
      await #expect(throws: SyncFailure.storeNotFound) { try await service.moveStore(id: UUID(), to: "new.example") }
      workshop.shop.fail(SyncFailure.unreachable)
      await #expect(throws: SyncFailure.unreachable) { try await service.moveStore(id: id, to: "new.example") }
      #expect(try await service.stores().map(\.domain).sorted() == ["old.example", "other.example"])
    }
  }
}
