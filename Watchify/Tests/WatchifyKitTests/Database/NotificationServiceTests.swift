import CofferCore
import CofferRouter
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(15))) struct NotificationServiceTests {
  private func event(
    _ type: ChangeType, _ magnitude: ChangeMagnitude = .medium, value: String? = nil
  ) -> ChangeEventDTO {
    ChangeEventDTO(
      id: UUID(), changeType: type, productTitle: "Mat", newValue: value, magnitude: magnitude, occurredAt: Date(),
      storeId: nil, storeName: "Allbirds")
  }

  // Requirements 2.45, 2.46
  @Test("The specified wording, in order")
  func wording() throws {
    let drops = (0..<3).map { _ in event(.priceDropped) }
    #expect(
      NotificationContent(of: drops + [event(.backInStock)])?.body
        == "Mat: back in stock · 3 price drops, 1 back in stock")
    #expect(NotificationContent.summary(of: drops + [event(.backInStock)]) == "3 price drops, 1 back in stock")
    let all = ChangeType.allCases.reversed().map { event($0) }
    #expect(
      NotificationContent.summary(of: all)
        == "1 price drop, 1 price increase, 1 back in stock, 1 out of stock, 1 new product, 1 product removed, "
        + "1 product returned, 1 new variant, 1 list price changed, 1 product with pictures changed, "
        + "1 wish came true, store open again, store closed by password, prices now in another currency")
    #expect(NotificationContent(of: [event(.imagesChanged)])?.body == "Mat: pictures changed")
    #expect(
      NotificationContent(of: [event(.imagesChanged), event(.imagesChanged)])?.body
        == "Mat: pictures changed · 2 products with pictures changed")
    #expect(NotificationContent(of: [event(.currencyChanged, value: "SGD")])?.body == "prices now in SGD")
    #expect(NotificationContent(of: []) == nil)
    #expect(NotificationContent(of: drops)?.title == "Allbirds")
  }

  // Requirements 2.40, 2.41, 2.42
  @Test("The most urgent change decides")
  func priorities() {
    for (type, magnitude, priority) in [
      (ChangeType.backInStock, ChangeMagnitude.small, NotificationPriority.timeSensitive),
      (.priceDropped, .large, .timeSensitive), (.priceDropped, .medium, .active), (.priceDropped, .small, .passive),
      (.priceIncreased, .large, .active), (.outOfStock, .medium, .active), (.newProduct, .medium, .active),
      (.productRemoved, .medium, .active), (.imagesChanged, .medium, .passive),
    ] { #expect(event(type, magnitude).priority == priority, "\(type) \(magnitude)") }
    #expect(NotificationContent(of: [event(.imagesChanged), event(.newProduct)])?.priority == .active)
    #expect(NotificationContent(of: [event(.newProduct), event(.backInStock)])?.priority == .timeSensitive)
  }

  // Requirement 2.39
  @Test(
    "Thresholds are exact amounts and exact percentages",
    arguments: [
      (PriceThreshold.any, "100", "99.99", true), (.fiveDollars, "100", "95", true),
      (.fiveDollars, "100", "95.01", false),
      (.tenDollars, "100", "111", true), (.twentyFiveDollars, "30", "5", true), (.tenPercent, "100", "90", true),
      (.tenPercent, "100", "90.01", false), (.twentyFivePercent, "164.80", "123.60", true),
      (.twentyFivePercent, "164.80", "123.61", false), (.tenPercent, "0", "1", true),
    ])
  func thresholds(threshold: PriceThreshold, old: String, new: String, isSatisfied: Bool) {
    var change = event(.priceDropped)
    change.oldPrice = Decimal(string: old)
    change.newPrice = Decimal(string: new)
    #expect(threshold.isSatisfied(by: change) == isSatisfied)
    #expect(threshold.isSatisfied(by: event(.newProduct)))
  }

  // Requirements 2.34, 2.44
  @Test("One notification per store, delivered once, however often and concurrently it is sent")
  func once() async throws {
    try await Workshop.use { workshop in
      let one = try await workshop.follow([product(1), product(2)])
      let two = try await workshop.follow([product(1)], domain: "two.example")
      workshop.shop.describe(ShopDescription(name: "Two"))
      let drops = try await workshop.sync(one, [product(1, prices: ["70"]), product(2, prices: ["90"])])
      let rises = try await workshop.sync(two, [product(1, prices: ["130"])])
      let news = drops + rises
      let (service, channel) = (workshop.service, workshop.channel)
      let other = await MainActor.run {
        let other = NotificationService()
        other.attach(service, channels: [channel])
        return other
      }
      async let first: Void = workshop.notifications.deliver(news)
      async let second: Void = other.deliver(news)
      _ = try await (first, second)
      try await workshop.notifications.deliver(news)
      #expect(
        channel.delivered.map(\.body).sorted() == [
          "Product 1: $130.00, was $100.00", "Product 1: $70.00, was $100.00 · 2 price drops",
        ])
      #expect(channel.delivered.first { $0.threadIdentifier == one.uuidString }?.priority == .timeSensitive)
      #expect(try await workshop.service.waitingNews().isEmpty)
    }
  }

  @Test("A failing channel loses nothing and fails no sync; the news is delivered together when it works")
  func failure() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      try await workshop.container.settings.set(.authorized, for: StorageKeys.notificationPermission)
      workshop.channel.fail(ChannelError("The bus is away.", isTemporary: true))
      for price in ["90", "80"] {
        try await workshop.sync(id, [product(1, prices: [price])])
        try await workshop.notifications.sendPending()
      }
      #expect(await workshop.notifications.lastFailures["desktop"]?.reason == "The bus is away.")
      workshop.channel.fail(nil)
      try await workshop.notifications.sendPending()
      let body = "Product 1: $80.00, was $100.00"
      #expect(workshop.channel.delivered.isEmpty || workshop.channel.delivered.map(\.body) == [body])
      workshop.clock.turn(61)
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body) == [body])
      #expect(await workshop.notifications.lastFailures.isEmpty)
    }
  }

  @Test("An expired claim is taken over, and news undelivered for three days is given up and counted")
  func claims() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      try await workshop.sync(id, [product(1, prices: ["90"])])
      let batch = try #require(try await workshop.service.claimNews(for: "desktop", NotificationPreferences()))
      #expect(batch.events.map(\.changeType) == [.priceDropped])
      #expect(try await workshop.service.claimNews(for: "desktop", NotificationPreferences()) == nil, "it is claimed")
      workshop.clock.turn(61)
      #expect(try await workshop.service.claimNews(for: "desktop", NotificationPreferences())?.events.count == 1)
      try await workshop.service.finish(batch)
      #expect(try await !workshop.service.waitingNews().isEmpty, "the claim has expired")
      workshop.clock.turn(73 * 3_600)
      #expect(try await workshop.service.claimNews(for: "desktop", NotificationPreferences()) == nil)
      #expect(try await workshop.service.channelState("desktop").missed == 1)
      try await workshop.notifications.sendPending()
      #expect(
        workshop.channel.delivered.map(\.body) == [
          "1 more change while this channel did not work: see 'watchify activity'."
        ])
      #expect(try await workshop.service.channelState("desktop").missed == 0)
    }
  }

  // Requirements 2.37, 2.38, 2.39
  @Test("Settings apply: the master switch, a type, a threshold, quiet hours, the channels")
  func settings() async throws {
    try await Workshop.use { workshop in
      let settings = workshop.container.settings
      let id = try await workshop.follow([product(1)])
      var price = 100
      func change() async throws -> [String] {
        price -= 4
        let before = workshop.channel.delivered.count
        try await workshop.sync(id, [product(1, prices: ["\(price)"])])
        try await workshop.notifications.sendPending()
        return workshop.channel.delivered.dropFirst(before).map(\.body)
      }
      #expect(try await change() == ["Product 1: $96.00, was $100.00"])
      try await settings.set(false, for: StorageKeys.notificationsEnabled)
      #expect(try await change().isEmpty)
      try await settings.set(true, for: StorageKeys.notificationsEnabled)
      try await settings.set(false, for: StorageKeys.notifyPriceDropped)
      #expect(try await change().isEmpty)
      try await settings.set(true, for: StorageKeys.notifyPriceDropped)
      try await settings.set(.fiveDollars, for: StorageKeys.priceDropThreshold)
      #expect(try await change().isEmpty)
      try await settings.set(.any, for: StorageKeys.priceDropThreshold)
      try await settings.set(["terminal"], for: StorageKeys.notificationChannels)
      #expect(try await change().isEmpty)
      try await settings.set(["desktop"], for: StorageKeys.notificationChannels)
      let minute = Calendar.current.component(.hour, from: workshop.clock.now) * 60
      try await settings.set(
        QuietHours(start: minute, end: (minute + 120) % 1_440), for: StorageKeys.quietHours)
      #expect(try await change().isEmpty, "it is held back")
      #expect(try await change().isEmpty)
      workshop.clock.turn(2 * 3_600)
      #expect(try await change() == ["Product 1: $68.00, was $80.00"], "and is delivered together")
    }
  }

  // Requirement 2.38
  @Test("A kind that was switched off after it was enqueued is not delivered")
  func switchedOff() async throws {
    try await Workshop.use { workshop in
      let settings = workshop.container.settings
      var soldOut = product(2)
      soldOut.variants[0].available = false
      let id = try await workshop.follow([product(1), soldOut])
      try await settings.set(.authorized, for: StorageKeys.notificationPermission)
      workshop.channel.fail(ChannelError("The bus is away.", isTemporary: true))
      try await workshop.sync(id, [product(1, prices: ["90"]), product(2)])
      try await workshop.notifications.sendPending()
      try await settings.set(false, for: StorageKeys.notifyPriceDropped)
      workshop.channel.fail(nil)
      workshop.clock.turn(61)
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body) == ["Product 2: back in stock"])
      // Alone as well; and it does not remain in the outbox for ever.
      try await settings.set(true, for: StorageKeys.notifyPriceDropped)
      try await workshop.sync(id, [product(1, prices: ["80"]), product(2)])
      try await settings.set(false, for: StorageKeys.notifyPriceDropped)
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.count == 1)
      #expect(try await workshop.service.waitingNews().isEmpty)
    }
  }

  // Requirement 2.36
  @Test("Permission is requested at the first news, and only then; a denial is final")
  func permission() async throws {
    try await Workshop.use { workshop in
      let asked = Locked(0)
      let (service, channel) = (workshop.service, workshop.channel)
      let notifications = await MainActor.run {
        let notifications = NotificationService()
        notifications.attach(service, channels: [channel]) {
          asked.withLock { $0 += 1 }
          return false
        }
        return notifications
      }
      let id = try await workshop.follow([product(1)])
      try await notifications.sendPending()
      #expect(asked.withLock { $0 } == 0)
      #expect(await notifications.authorizationStatus() == .notDetermined)
      for price in ["90", "80"] {
        let news = try await workshop.sync(id, [product(1, prices: [price])])
        try await notifications.deliver(news)
      }
      #expect(asked.withLock { $0 } == 1 && channel.delivered.isEmpty)
      #expect(await notifications.authorizationStatus() == .denied)
    }
  }

  @Test("Quiet hours may span midnight")
  func quietHours() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
    let night = try #require(QuietHours("22:00-07:30"))
    #expect(night.description == "22:00-07:30" && QuietHours("off")?.description == "off")
    for (time, isQuiet) in [("21:59", false), ("22:00", true), ("00:00", true), ("07:29", true), ("07:30", false)] {
      let parts = time.split(separator: ":").compactMap { Int($0) }
      let date = try #require(
        calendar.date(from: DateComponents(year: 2026, month: 3, day: 1, hour: parts[0], minute: parts[1])))
      let end = night.end(at: date, calendar: calendar)
      #expect((end != nil) == isQuiet, "\(time)")
      guard let end else { continue }
      #expect(calendar.dateComponents([.hour, .minute], from: end) == DateComponents(hour: 7, minute: 30))
    }
    for text in ["", "22:00", "22-7", "24:00-07:00", "22:60-07:00", "22:00-22:00", "a:b-c:d", "22:00-07:00-09:00"] {
      #expect(QuietHours(text) == nil, "\(text)")
    }
  }
}

@Suite @MainActor struct BackgroundSyncStateTests {
  // Requirements 2.52, 2.54
  @Test("Errors by store and as a summary; rate limits are not recorded")
  func state() {
    let (state, one, two) = (BackgroundSyncState(), UUID(), UUID())
    #expect(!state.hasErrors && state.errorSummary == nil)
    state.recordError(.rateLimited(retryAfter: 10), forStore: one)
    #expect(!state.hasErrors)
    state.recordError(.networkTimeout, forStore: one)
    state.recordError(.invalidResponse, forStore: one)
    #expect(state.storeErrors == [one: .invalidResponse] && state.errorSummary == "1 store failed to sync")
    state.recordError(.storeNotFound, forStore: two)
    #expect(state.errorSummary == "2 stores failed to sync")
    state.recordSuccess(forStore: one)
    #expect(state.storeErrors == [two: .storeNotFound])
    state.clearAllErrors()
    #expect(!state.hasErrors)
  }
}
