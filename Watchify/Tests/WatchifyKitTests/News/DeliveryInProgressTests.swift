import CofferRouter
import CofferSQLite
import Foundation
import Testing

@testable import WatchifyKit

/// Changes while a delivery is in progress, fails, or has an unknown outcome.
@Suite(.timeLimit(.minutes(5))) struct DeliveryInProgressTests {
  private let failure = ChannelError("The channel does not work.", isTemporary: true)
  private let silence = ChannelError("No answer.", isTemporary: true, isUncertain: true)

  private func sized(_ isAvailable: Bool) -> [ShopifyProduct] {
    var sized = product(1, prices: ["10", "10"])
    sized.variants[1].available = isAvailable
    return [sized]
  }

  private func mat(_ price: String) -> [ShopifyProduct] { [product(2, prices: [price])] }

  private func claim(_ workshop: Workshop) async throws -> OutboxRows.Batch {
    let preferences = try await NotificationPreferences(from: workshop.container.settings)
    return try #require(try await workshop.service.claimNews(for: "desktop", preferences))
  }

  /// Delivers all that is due after the quiet hours, and returns the texts.
  private func told(_ workshop: Workshop) async throws -> [String] {
    let before = workshop.channel.delivered.count
    workshop.clock.turn(7 * 3_600)
    try await workshop.notifications.sendPending()
    return workshop.channel.delivered.dropFirst(before).map(\.body)
  }

  private static let restock = "Product 1, Size 1: back in stock"

  @Test("A restock is told although the variant sold out in the delivery of the last one, without a notification")
  func soldOutMeanwhile() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(sized(false))
      try await workshop.container.settings.set(false, for: StorageKeys.notify(.outOfStock))
      try await workshop.sync(id, sized(true))
      let batch = try await claim(workshop)
      try await workshop.sync(id, sized(false))
      try await workshop.service.finish(batch)
      try await workshop.sync(id, sized(true))
      #expect(try await told(workshop) == [Self.restock])
    }
  }

  @Test("A restock is told although the variant was unlisted in the delivery of the last one")
  func unlistedMeanwhile() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(sized(false))
      var without = sized(true)
      without[0].variants.removeLast()
      try await workshop.sync(id, sized(true))
      try await workshop.sync(id, without)
      let batch = try await claim(workshop)
      try await workshop.sync(id, without)
      try await workshop.service.finish(batch)
      try await workshop.sync(id, sized(true))
      #expect(try await told(workshop) == [Self.restock])
    }
  }

  @Test("A restock is told although one before it may have been, and the sell-out between them is not news")
  func uncertain() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(sized(false))
      try await workshop.sync(id, sized(true))
      let batch = try await claim(workshop)
      try await workshop.service.giveBack(batch, silence, .steady)
      try await workshop.sync(id, sized(false))
      try await workshop.sync(id, sized(true))
      #expect(try await told(workshop) == [Self.restock])
    }
  }

  @Test("A restock whose delivery failed is not told after the variant sold out", arguments: [true, false])
  func outdated(isMuted: Bool) async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(sized(false))
      try await workshop.container.settings.set(!isMuted, for: StorageKeys.notify(.outOfStock))
      try await workshop.sync(id, sized(true))
      let batch = try await claim(workshop)
      try await workshop.sync(id, sized(false))
      try await workshop.service.giveBack(batch, failure, .steady)
      #expect(try await told(workshop).isEmpty)
      try await workshop.sync(id, sized(true))
      #expect(try await told(workshop) == [Self.restock])
    }
  }

  @Test(
    "A drop whose delivery failed or was interrupted is not told after the price was restored", arguments: [1, 2, 3])
  func restored(way: Int) async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(mat("100"))
      try await workshop.container.settings.set(false, for: StorageKeys.notify(.priceIncreased))
      try await workshop.sync(id, mat("85"))
      let batch = try await claim(workshop)
      if way == 1 { workshop.clock.turn(61) }  // a process that was killed: its claim has expired
      try await workshop.sync(id, mat("100"))
      if way == 2 { try await workshop.service.giveBack(batch, failure, .steady) }
      #expect(try await told(workshop).isEmpty)
      try await workshop.sync(id, mat("70"))
      #expect(try await told(workshop) == ["Product 2: $70.00, was $100.00"])
    }
  }

  @Test("A drop whose delivery failed continues in the next one")
  func continued() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(mat("100"))
      try await workshop.sync(id, mat("85"))
      let batch = try await claim(workshop)
      try await workshop.sync(id, mat("80"))
      try await workshop.service.giveBack(batch, failure, .steady)
      #expect(try await told(workshop) == ["Product 2: $80.00, was $100.00"])
    }
  }

  @Test("Changes below the threshold that follow a waiting one are added to it")
  func threshold() async throws {
    for prices in [["85", "80"], ["85", "95", "80"]] {
      try await Workshop.use { workshop in
        let id = try await workshop.follow(mat("100"))
        let settings = workshop.container.settings
        try await settings.set(.tenPercent, for: StorageKeys.priceDropThreshold)
        try await settings.set(.tenPercent, for: StorageKeys.priceIncreaseThreshold)
        for price in prices { try await workshop.sync(id, mat(price)) }
        #expect(try await told(workshop) == ["Product 2: $80.00, was $100.00"])
      }
    }
  }

  @Test("What is not delivered because its kind was switched off delays nothing later")
  func switchedOff() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(sized(false))
      let settings = workshop.container.settings
      try await workshop.sync(id, sized(true))
      try await settings.set(false, for: StorageKeys.notify(.backInStock))
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.isEmpty)
      try await settings.set(true, for: StorageKeys.notify(.backInStock))
      try await workshop.sync(id, sized(false))
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body) == ["Product 1, Size 1: out of stock"])
    }
  }
}
