import Coffer
import CofferCore
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// A channel that refuses every message about some product for good, as a server with a filter does.
private final class FilteringChannel: NotificationChannel {
  let name = "desktop"
  let retries = RetryPolicy.backoff
  /// The product; `nil` to refuse everything.
  let refused: Int64?
  let told = Locked<[[Int64]]>([])
  let attempts = Locked(0)

  init(refusing product: Int64?) { refused = product }

  func availability() async -> ChannelAvailability { .available(detail: "test") }
  func deliver(_ content: NotificationContent) async throws {}

  func deliver(_ message: NotificationMessage) async throws {
    attempts.withLock { $0 += 1 }
    let products = message.events.compactMap(\.productShopifyId)
    guard let refused, !products.contains(refused) else {
      throw ChannelError("test refuses the message.", isTemporary: false, isAboutMessage: true)
    }
    told.withLock { $0.append(products) }
  }
}

@Suite("Messages that a server refuses for good", .timeLimit(.minutes(5))) struct RefusedMessageTests {
  private func products(_ price: String) -> [ShopifyProduct] { (1...8).map { product($0, prices: [price]) } }

  @Test("One refused event holds back no other, and is retried alone")
  func filtered() async throws {
    try await Workshop.use { workshop in
      let (service, notifications, channel) = (
        workshop.service, workshop.notifications, FilteringChannel(refusing: 3)
      )
      await notifications.attach(service, channels: [channel])
      let id = try await workshop.follow(products("100"))
      try await workshop.sync(id, products("90"))
      try await notifications.sendPending()
      #expect(Set(channel.told.withLock { $0.joined() }) == [1, 2, 4, 5, 6, 7, 8])
      #expect(channel.attempts.withLock { $0 } == 7, "halved, not sent one by one")
      var state = try await service.channelState("desktop")
      #expect(state.waiting == 1 && !state.isFailing && state.nextAttempt == nil)
      #expect(state.reason == "test refuses the message.")

      // News goes on meanwhile, and the refused event is not tried again at once.
      try await workshop.sync(id, products("90").dropLast() + [product(8, prices: ["80"])])
      try await notifications.sendPending()
      #expect(channel.told.withLock { $0.last } == [8] && channel.attempts.withLock { $0 } == 8)
      workshop.clock.turn(8 * 3_600)
      try await notifications.sendPending()
      #expect(channel.attempts.withLock { $0 } == 9)
      workshop.clock.turn(73 * 3_600)
      for _ in 1...2 {
        try await service.deleteWhatIsTooOld()
        try await notifications.sendPending()
        #expect(try await service.channelState("desktop").waiting == 1, "it is tried since it is old")
        workshop.clock.turn(8 * 3_600)
      }
      let batch = try #require(try await service.claimNews(for: "desktop", NotificationPreferences()))
      try await service.giveBack(batch, ChannelError("No.", isTemporary: false, isAboutMessage: true), .backoff)
      try await service.deleteWhatIsTooOld()
      state = try await service.channelState("desktop")
      #expect(state.waiting == 0 && state.missed == 1, "it is counted in the end")
    }
  }

  @Test("Of old news, only the refused event is given up")
  func old() async throws {
    try await Workshop.use { workshop in
      let (service, notifications, channel) = (
        workshop.service, workshop.notifications, FilteringChannel(refusing: 3)
      )
      await notifications.attach(service, channels: [channel])
      let id = try await workshop.follow(products("100"))
      try await workshop.sync(id, products("90"))
      workshop.clock.turn(73 * 3_600)
      try await notifications.sendPending()
      #expect(Set(channel.told.withLock { $0.joined() }) == [1, 2, 4, 5, 6, 7, 8])
      let state = try await service.channelState("desktop")
      #expect(state.waiting == 1 && state.missed == 0)
    }
  }

  @Test("A channel that refuses everything pauses, and is a failing one")
  func everything() async throws {
    try await Workshop.use { workshop in
      let (service, notifications, channel) = (
        workshop.service, workshop.notifications, FilteringChannel(refusing: nil)
      )
      await notifications.attach(service, channels: [channel])
      let id = try await workshop.follow((1...200).map { product($0) })
      try await workshop.sync(id, (1...200).map { product($0, prices: ["90"]) })
      try await notifications.sendPending()
      #expect(channel.attempts.withLock { $0 } == ChannelRows.mostRefusals + 1)
      let state = try await service.channelState("desktop")
      #expect(state.isFailing && state.waiting == 200)
      for price in ["80", "70"] {
        try await workshop.sync(id, (1...200).map { product($0, prices: [price]) })
        try await notifications.sendPending()
      }
      #expect(channel.attempts.withLock { $0 } == ChannelRows.mostRefusals + 3, "one for each message with other news")
      for _ in 1...2 {
        workshop.clock.turn(8 * 3_600)
        try await notifications.sendPending()
      }
      #expect(channel.attempts.withLock { $0 } == ChannelRows.mostRefusals + 5, "one each time")
    }
  }

  @Test("A refused message about given-up news delays no other")
  func missed() async throws {
    let server = try ScriptedServer([.status(422), .status(204), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let (service, channel) = (workshop.service, workshop.channel)
      await workshop.notifications.attach(service, channels: [channel], secrets: secrets)
      let id = try await workshop.follow([product(1)])
      #expect(try await service.addChannel(try await localChannel(port: server.port, secrets: secrets)))
      try await workshop.sync(id, [product(1, prices: ["90"])])
      workshop.clock.turn(17 * 24 * 3_600)
      try await service.deleteWhatIsTooOld()
      try await workshop.notifications.sendPending()
      var state = try await service.channelState("hook")
      #expect(state.missed == 1 && state.nextAttempt == nil && server.log.count == 1)
      let turn = try #require(try await service.nextTurn(of: ["hook"]))
      #expect(turn > workshop.clock.now, "it is not repeated at once")
      try await workshop.sync(id, [product(1, prices: ["80"])])
      try await workshop.notifications.sendPending()
      #expect(server.log.count == 2)
      workshop.clock.turn(8 * 3_600)
      try await workshop.notifications.sendPending()
      state = try await service.channelState("hook")
      #expect(state.missed == 0 && server.log.count == 3)
    }
  }

  @Test(
    "A webhook that refuses one message goes on; one that is closed pauses",
    arguments: [(400, false), (413, false), (422, false), (401, true), (410, true), (500, true)])
  func webhook(status: Int, pauses: Bool) async throws {
    let server = try ScriptedServer([.status(status), .status(204), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let (service, channel) = (workshop.service, workshop.channel)
      await workshop.notifications.attach(service, channels: [channel], secrets: secrets)
      let id = try await workshop.follow([product(1), product(2)])
      let hook = try await localChannel(port: server.port, secrets: secrets)
      #expect(try await service.addChannel(hook))
      try await workshop.sync(id, [product(1, prices: ["90"]), product(2, prices: ["90"])])
      try await workshop.notifications.sendPending()
      let state = try await service.channelState("hook")
      #expect(state.isFailing == pauses && state.waiting == (pauses ? 2 : 0))
      #expect(server.log.count == (pauses ? 1 : 3))
    }
  }
}
