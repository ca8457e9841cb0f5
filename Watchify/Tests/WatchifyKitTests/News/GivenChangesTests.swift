import CofferRouter
import Foundation
import Testing

@testable import WatchifyKit

/// `NotificationService.deliver(_:)` delivers the changes that it is given.
@Suite(.serialized) struct GivenChangesTests {
  // Requirement 2.35
  @Test("Only the given changes are delivered, each once; the others stay in the outbox")
  func onlyThese() async throws {
    try await Workshop.use { workshop in
      let one = try await workshop.follow([product(1), product(2)])
      let news = try await workshop.sync(one, [product(1, prices: ["70"]), product(2, prices: ["90"])])
      let (mug, mat) = (try #require(news.first), try #require(news.last))
      #expect(news.count == 2)
      try await workshop.notifications.deliver([mug])
      try await workshop.notifications.deliver([mug])
      #expect(workshop.channel.delivered.map(\.body) == ["\(mug.productTitle): $70.00, was $100.00"])
      #expect(try await workshop.service.waitingNews().map(\.count) == [1])
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body).last == "\(mat.productTitle): $90.00, was $100.00")
      #expect(try await workshop.service.waitingNews().isEmpty)
    }
  }

  // Requirement 2.35
  @Test("Changes that are not in the database are delivered, one notification per store, as the settings allow")
  func unknown() async throws {
    try await Workshop.use { workshop in
      let shop = UUID()
      func change(_ title: String, _ type: ChangeType = .backInStock) -> ChangeEventDTO {
        ChangeEventDTO(
          id: UUID(), changeType: type, productTitle: title, occurredAt: workshop.clock.now, storeId: shop,
          storeName: "Elsewhere")
      }
      try await workshop.notifications.deliver([change("Mug"), change("Mat")])
      #expect(workshop.channel.delivered.map(\.threadIdentifier) == [shop.uuidString])
      #expect(workshop.channel.delivered.first?.body.contains("2 back in stock") == true)
      try await workshop.container.settings.set(false, for: StorageKeys.notifyBackInStock)
      try await workshop.notifications.deliver([change("Cup")])
      #expect(workshop.channel.delivered.count == 1)
    }
  }

  // Requirement 2.35
  @Test("What a failing channel did not accept stays in the outbox")
  func failing() async throws {
    try await Workshop.use { workshop in
      let one = try await workshop.follow([product(1)])
      let news = try await workshop.sync(one, [product(1, prices: ["70"])])
      try await workshop.container.settings.set(.authorized, for: StorageKeys.notificationPermission)
      workshop.channel.fail(ChannelError("The bus is away.", isTemporary: true))
      try await workshop.notifications.deliver(news)
      #expect(await workshop.notifications.lastFailures["desktop"]?.reason == "The bus is away.")
      workshop.channel.fail(nil)
      workshop.clock.turn(61)
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.count == 1)
    }
  }
}
