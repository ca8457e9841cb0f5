import CofferCore
import CofferRouter
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// A channel whose delivery never ends by itself.
private final class HangingChannel: NotificationChannel {
  let name = "terminal"
  let started = Locked(0)

  func availability() async -> ChannelAvailability { .available(detail: "test") }
  func deliver(_ content: NotificationContent) async throws {
    started.withLock { $0 += 1 }
    try await hang()
  }
}

@Suite("The outbox and its channels", .timeLimit(.minutes(5))) struct OutboxTests {
  /// Adds a channel to a workshop and returns its row.
  @discardableResult
  private func add(port: Int, _ workshop: Workshop, _ secrets: ChannelSecrets) async throws -> ChannelDTO {
    let channel = try await localChannel(port: port, secrets: secrets)
    #expect(try await workshop.service.addChannel(channel))
    return channel
  }

  private func attach(_ workshop: Workshop, _ secrets: ChannelSecrets) async {
    let (service, channel) = (workshop.service, workshop.channel)
    await workshop.notifications.attach(service, channels: [channel], secrets: secrets)
  }

  @Test("A channel that hangs delays no other")
  func independent() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      try await workshop.container.settings.set(.authorized, for: StorageKeys.notificationPermission)
      try await workshop.container.settings.set(["desktop", "terminal"], for: StorageKeys.notificationChannels)
      let (service, channel, hanging) = (workshop.service, workshop.channel, HangingChannel())
      let notifications = workshop.notifications
      await notifications.attach(service, channels: [hanging, channel])
      try await workshop.sync(id, [product(1, prices: ["90"])])
      let first = Task { try await notifications.sendPending() }
      try await eventually("one delivery ends, and one hangs") {
        channel.delivered.count == 1 && hanging.started.withLock { $0 } == 1
      }
      try await workshop.sync(id, [product(1, prices: ["80"])])
      let second = Task { try await notifications.sendPending() }
      try await eventually("the second delivery ends") { channel.delivered.count == 2 }
      first.cancel()
      second.cancel()
      _ = await (first.result, second.result)
      #expect(try await service.channelState("terminal").waiting > 0, "nothing is lost")
    }
  }

  @Test("A webhook gets news from its addition on, pauses as long as the server asks, and its removal drops its news")
  func webhook() async throws {
    let server = try ScriptedServer([.status(429, "Retry-After: 300"), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      await attach(workshop, secrets)
      let id = try await workshop.follow([product(1)])
      try await workshop.sync(id, [product(1, prices: ["95"])])
      try await add(port: server.port, workshop, secrets)
      try await workshop.notifications.sendPending()
      #expect(server.log.isEmpty && workshop.channel.delivered.count == 1, "old news is not delivered")
      try await workshop.sync(id, [product(1, prices: ["90"])])
      try await workshop.notifications.sendPending()
      #expect(server.log.count == 1 && workshop.channel.delivered.count == 2)
      let failing = try await workshop.service.channelState("hook")
      #expect(
        failing.isFailing && failing.failures == 1 && failing.waiting == 1 && failing.reason?.contains("429") ?? false)
      #expect(failing.nextAttempt.map { $0.timeIntervalSince(workshop.clock.now) } ?? 0 > 200)
      try await workshop.notifications.sendPending()
      #expect(server.log.count == 1, "it pauses")
      #expect(try await workshop.notifications.nextTurn() == failing.nextAttempt)
      workshop.clock.turn(301)
      try await workshop.notifications.sendPending()
      let state = try await workshop.service.channelState("hook")
      #expect(server.log.count == 2 && !state.isFailing && state.waiting == 0 && state.lastSuccess != nil)
      // What is left is removed with the channel.
      try await workshop.sync(id, [product(1, prices: ["85"])])
      #expect(try await workshop.service.removeChannel("hook") != nil)
      #expect(try await workshop.service.waitingNews().allSatisfy { $0.channel != "hook" })
      #expect(try await workshop.service.removeChannel("hook") == nil)
    }
  }

  @Test("News whose outcome stays unknown is sent twice and then only counted; no news is lost in silence")
  func twice() async throws {
    let server = try ScriptedServer([.raw([]), .raw([]), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      await attach(workshop, secrets)
      let id = try await workshop.follow([product(1)])
      try await workshop.container.settings.set(.authorized, for: StorageKeys.notificationPermission)
      try await add(port: server.port, workshop, secrets)
      try await workshop.sync(id, [product(1, prices: ["90"])])
      for _ in 1...4 {
        try await workshop.notifications.sendPending()
        workshop.clock.turn(7_200)
      }
      let kinds = server.log.map { request in
        (try? JSONSerialization.jsonObject(with: request.body) as? NSDictionary)?["kind"] as? String
      }
      #expect(kinds == ["news", "news", "missed"])
      let last = String(decoding: server.log.last?.body ?? Data(), as: UTF8.self)
      #expect(last.contains("1 more change while this channel did not work"))
      #expect(try await workshop.service.channelState("hook").missed == 0)
    }
  }

  @Test("A dead webhook does not pile up: after three days only the number is kept, and is told when it works")
  func dead() async throws {
    let server = try ScriptedServer(Array(repeating: .status(500), count: 7) + [.status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      await attach(workshop, secrets)
      let id = try await workshop.follow([product(1), product(2)])
      try await add(port: server.port, workshop, secrets)
      try await workshop.sync(id, [product(1, prices: ["90"]), product(2, prices: ["90"])])
      for _ in 1...3 {
        try await workshop.notifications.sendPending()
        workshop.clock.turn(3_600)
      }
      workshop.clock.turn(73 * 3_600)
      for _ in 1...3 {
        try await workshop.service.deleteWhatIsTooOld()
        #expect(try await workshop.service.channelState("hook").waiting == 2, "it is tried since it is old")
        try await workshop.notifications.sendPending()
        workshop.clock.turn(8 * 3_600)
      }
      try await workshop.service.deleteWhatIsTooOld()
      let state = try await workshop.service.channelState("hook")
      #expect(state.waiting == 0 && state.missed == 2)
      try await workshop.notifications.sendPending()
      #expect(try await workshop.service.channelState("hook").missed == 2, "it still fails")
      workshop.clock.turn(7 * 3_600)
      try await workshop.notifications.sendPending()
      let last = String(decoding: server.log.last?.body ?? Data(), as: UTF8.self)
      #expect(last.contains("2 more changes while"))
      #expect(try await workshop.service.channelState("hook").missed == 0)
    }
  }

  @Test("After a channel's pause, an accepted test releases what waits, also the parts of refused messages")
  func released() async throws {
    let server = try ScriptedServer([.status(401), .status(204), .status(204), .status(400), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      await attach(workshop, secrets)
      let (service, id) = (workshop.service, try await workshop.follow([product(1)]))
      let hook = try await add(port: server.port, workshop, secrets).delivery(secrets: secrets)
      for (price, failing) in [("90", true), ("80", false)] {
        try await workshop.sync(id, [product(1, prices: [price])])
        for _ in 1...2 { try await workshop.notifications.sendPending() }
        let state = try await service.channelState("hook")
        #expect(state.isFailing == failing && state.waiting == 1, "it pauses, or waits for six hours")
        try await hook.deliver(.test)
        try await service.recordSuccess(of: "hook")
        try await workshop.notifications.sendPending()
        #expect(try await service.channelState("hook").waiting == 0)
      }
      #expect(server.log.count == 6)
    }
  }

  @Test("A channel that is added again begins anew, although a delivery ended after the removal")
  func addedAgain() async throws {
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let (service, id) = (workshop.service, try await workshop.follow([product(1)]))
      try await add(port: 9, workshop, secrets)
      try await workshop.sync(id, [product(1, prices: ["90"])])
      let preferences = NotificationPreferences()
      let batch = try #require(try await service.claimNews(for: "hook", preferences))
      #expect(try await service.removeChannel("hook") != nil)
      try await service.giveBack(batch, ChannelError("No.", isTemporary: false), .backoff)
      try await add(port: 9, workshop, secrets)
      // One that fails even later, as of the channel that was removed.
      let error = ChannelError("No.", isTemporary: false)
      try await service.giveBack(batch, error, .backoff)
      try await service.giveBackMissed("hook", 1, error, .backoff)
      try await service.finish(batch)
      let state = try await service.channelState("hook")
      #expect(state == ChannelState())
      try await workshop.sync(id, [product(1, prices: ["80"])])
      #expect(try await service.claimNews(for: "hook", preferences)?.events.count == 1)
    }
  }

  @Test("Options that an older version has not stored have their defaults")
  func options() throws {
    let options = try JSONDecoder().decode(ChannelOptions.self, from: Data(#"{"allowsPrivate":true,"new":1}"#.utf8))
    #expect(options.allowsPrivate && options.recipients.isEmpty && options.sender == nil)
  }

  @Test("A locked store for secrets is a failure of the channel with advice, and nothing is lost")
  func locked() async throws {
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let channel = try await add(port: 9, workshop, secrets)
      let file = URL(fileURLWithPath: workshop.directory.path("secrets.sealed"))
      let wrong = ChannelSecrets(SecretChain(.sealed(file, passphrase: .provided { Data("wrong".utf8) })))
      let error = await failure(WebhookChannel(channel, secrets: wrong))
      #expect(error?.isTemporary == true && error?.isUncertain == false)
      #expect(error?.reason.contains("secret cannot be read") ?? false, "\(error as Any)")
      #expect(!(error?.reason.contains("/hook") ?? true))
    }
  }
}
