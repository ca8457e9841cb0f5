import CofferRouter
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// Random sequences of reads, deliveries and their outcomes, compared with what the readers of each channel know.
@Suite(.timeLimit(.minutes(15))) struct ToldModelTests {
  private static let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil

  /// What the readers of a channel were told.
  private struct Readers {
    var isAvailable = true
    var price: Decimal = 100
    /// A delivery in progress.
    var batch: OutboxRows.Batch?
    /// Whether news was given up, which is told as a number.
    var hasMissed = false

    mutating func read(_ events: [ChangeEventDTO]) {
      for event in events {
        switch event.changeType {
        case .backInStock: isAvailable = true
        case .outOfStock: isAvailable = false
        case .priceDropped, .priceIncreased: price = event.newPrice ?? price
        default: break
        }
      }
    }
  }

  /// A shop with one product, and three channels, one of them with a daily digest.
  private struct Scene {
    let workshop: Workshop
    let id: UUID
    let muted: Set<ChangeType>
    var random: SeededGenerator
    var isAvailable = true
    var price: Decimal = 100
    var lastRead: Date
    var readers = Dictionary(uniqueKeysWithValues: ToldModelTests.channels.map { ($0, Readers()) })
    var log: [String] = []

    private var listing: [ShopifyProduct] {
      var listed = product(1, prices: ["\(price)"])
      listed.variants[0].available = isAvailable
      return [listed]
    }

    mutating func read() async throws {
      workshop.clock.turn(max(0, 61 - workshop.clock.now.timeIntervalSince(lastRead)))
      if Bool.random(using: &random) { isAvailable.toggle() }
      if Bool.random(using: &random) { price = [70, 85, 100, 120].randomElement(using: &random) ?? 100 }
      log.append("read \(isAvailable ? "available" : "sold out") at \(price)")
      workshop.shop.serve(listing)
      _ = try await workshop.service.sync(id)
      lastRead = workshop.clock.now
    }

    private var preferences: NotificationPreferences {
      var preferences = NotificationPreferences()
      preferences.types.subtract(muted)
      return preferences
    }

    mutating func claim(_ channel: String) async throws {
      let isDigest = channel == "daily"
      let claimed = try await workshop.service.claimNews(for: channel, ofAllStores: isDigest, preferences)
      guard let batch = claimed else { return }
      let events = batch.events
      log.append("\(channel) claims \(events.map { "\($0.changeType) \($0.newPrice ?? 0)" })")
      guard !events.isEmpty else { return try await workshop.service.finish(batch, delivered: false) }
      for event in events {
        let isTrue =
          switch event.changeType {
          case .backInStock: isAvailable
          case .outOfStock: !isAvailable
          default: event.newPrice == price
          }
        #expect(isTrue, "news is true when it is sent: \(log)")
      }
      readers[channel]?.batch = batch
    }

    mutating func resolve(_ channel: String, isGood: Bool = false) async throws {
      guard let batch = readers[channel]?.batch else { return }
      readers[channel]?.batch = nil
      let outcome = isGood ? 0 : Int.random(in: 0...5, using: &random)
      let arrives = outcome == 0 || outcome > 2 && Bool.random(using: &random)
      if arrives { readers[channel]?.read(batch.events) }
      log.append("\(channel): outcome \(outcome), arrives \(arrives)")
      switch outcome {
      case 0: try await workshop.service.finish(batch)
      case 1: try await giveBack(batch, isUncertain: false)
      case 2:
        let refusal = ChannelError("Refused.", isTemporary: false, isAboutMessage: true)
        try await workshop.service.giveBack(batch, refusal, .steady)
      case 3, 4: try await giveBack(batch, isUncertain: true)
      default: break  // killed
      }
    }

    private func giveBack(_ batch: OutboxRows.Batch, isUncertain: Bool) async throws {
      let error = ChannelError("No answer.", isTemporary: true, isUncertain: isUncertain)
      try await workshop.service.giveBack(batch, error, .steady)
    }

    mutating func step() async throws {
      let channel = ToldModelTests.channels.randomElement(using: &random) ?? "desktop"
      switch Int.random(in: 0...9, using: &random) {
      case 0...2: try await read()
      case 3...5:
        if readers[channel]?.batch == nil { try await claim(channel) }
      case 6, 7: try await resolve(channel)
      case 8: workshop.clock.turn(Double.random(in: 1...70, using: &random))
      default: workshop.clock.turn(Double.random(in: 100...30_000, using: &random))
      }
    }

    /// Delivers everything, until nothing is due any more.
    mutating func settle(_ channel: String) async throws {
      readers[channel]?.batch = nil
      for _ in 0..<20 {
        workshop.clock.turn(7 * 3_600)
        try await claim(channel)
        try await resolve(channel, isGood: true)
        if try await workshop.service.channelState(channel).missed > 0 { readers[channel]?.hasMissed = true }
      }
      let state = try await workshop.service.channelState(channel)
      #expect(state.waiting == 0, "nothing is stuck: \(log)")
    }

    func check(_ channel: String) {
      guard let known = readers[channel], !known.hasMissed else { return }
      if isAvailable != known.isAvailable {
        #expect(muted.contains(isAvailable ? .backInStock : .outOfStock), "\(channel): \(log)")
      }
      if price != known.price {
        #expect(muted.contains(price < known.price ? .priceDropped : .priceIncreased), "\(channel): \(log)")
      }
    }
  }

  private static let channels = ["desktop", "terminal", "daily"]
  private static let selections: [[ChangeType]] = [[], [.outOfStock, .priceIncreased], [.backInStock, .priceDropped]]

  @Test("Whatever happens to deliveries, news is true and nothing stays unknown", arguments: 0..<3)
  func model(selection: Int) async throws {
    let muted = Set(Self.selections[selection])
    for seed in 0..<(Self.isProving ? 300 : 8) {
      try await Workshop.use { workshop in
        let settings = workshop.container.settings
        try await settings.set(["desktop", "terminal"], for: StorageKeys.notificationChannels)
        for type in muted { try await settings.set(false, for: StorageKeys.notify(type)) }
        let id = try await workshop.follow([product(1)])
        let daily = ChannelDTO(
          name: "daily", kind: .json, host: "example.org", options: ChannelOptions(),
          digest: DailyTime(minutes: seed * 61 % 1_440), addedAt: workshop.clock.now)
        #expect(try await workshop.service.addChannel(daily))
        var scene = Scene(
          workshop: workshop, id: id, muted: muted, random: SeededGenerator(seed: UInt64(seed)),
          lastRead: workshop.clock.now)
        for _ in 0..<60 { try await scene.step() }
        for channel in Self.channels {
          try await scene.settle(channel)
          scene.check(channel)
        }
      }
    }
  }
}
