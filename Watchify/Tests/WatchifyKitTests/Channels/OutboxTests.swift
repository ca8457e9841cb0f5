import Coffer
import CofferDatabase
import CofferLocks
import CofferProcessTesting
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
    try await Task.sleep(for: .seconds(3_600))
  }
}

@Suite("The outbox and its channels", .timeLimit(.minutes(5))) struct OutboxTests {
  /// Adds a channel to a workshop and returns its row.
  @discardableResult
  private func add(
    _ kind: ChannelKind = .json, name: String = "hook", port: Int, digest: DailyTime? = nil, _ workshop: Workshop,
    _ secrets: ChannelSecrets
  ) async throws -> ChannelDTO {
    let channel = try await localChannel(kind, name: name, port: port, digest: digest, secrets: secrets)
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
      try await eventually { channel.delivered.count == 1 && hanging.started.withLock { $0 } == 1 }
      try await workshop.sync(id, [product(1, prices: ["80"])])
      let second = Task { try await notifications.sendPending() }
      try await eventually { channel.delivered.count == 2 }
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
    let server = try ScriptedServer([.status(500), .status(500), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      await attach(workshop, secrets)
      let id = try await workshop.follow([product(1), product(2)])
      try await add(port: server.port, workshop, secrets)
      try await workshop.sync(id, [product(1, prices: ["90"]), product(2, prices: ["90"])])
      try await workshop.notifications.sendPending()
      workshop.clock.turn(73 * 3_600)
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

  @Test("A digest waits for its time, survives a restart, and covers all stores in one message")
  func digest() async throws {
    let server = try ScriptedServer([.status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      await attach(workshop, secrets)
      let one = try await workshop.follow([product(1)])
      let two = try await workshop.follow([product(1)], domain: "two.example")
      let minutes = Calendar.current.component(.hour, from: workshop.clock.now) * 60
      let time = try #require(DailyTime(minutes: (minutes + 180) % 1_440))
      try await add(port: server.port, digest: time, workshop, secrets)
      try await workshop.sync(one, [product(1, prices: ["90"])])
      try await workshop.sync(two, [product(1, prices: ["80"])])
      try await workshop.notifications.sendPending()
      #expect(server.log.isEmpty && workshop.channel.delivered.count == 2)
      let turn = try #require(try await workshop.notifications.nextTurn())
      #expect(turn == time.next(after: workshop.clock.now))
      workshop.clock.turn(turn.timeIntervalSince(workshop.clock.now) + 1)
      // Another process delivers it, once.
      let (service, channel) = (workshop.service, workshop.channel)
      let other = await MainActor.run {
        let other = NotificationService()
        other.attach(service, channels: [channel], secrets: secrets)
        return other
      }
      async let first: Void = other.sendPending()
      async let second: Void = workshop.notifications.sendPending()
      _ = try await (first, second)
      #expect(server.log.count == 1)
      let body = try #require(try JSONSerialization.jsonObject(with: server.log[0].body) as? NSDictionary)
      #expect((body["events"] as? [NSDictionary])?.count == 2)
    }
  }

  @Test("The time of a digest exists once a day, when the clock is put forward and back")
  func dailyTime() throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: "Europe/Berlin"))
    let time = try #require(DailyTime("02:30"))
    func date(_ text: String) throws -> Date { try #require(try? Date(text, strategy: .iso8601)) }
    // 29 March 2026 has no 02:30; 25 October 2026 has two.
    let gap = time.next(after: try date("2026-03-28T20:00:00Z"), calendar: calendar)
    #expect(gap == (try date("2026-03-29T01:00:00Z")))
    let first = time.next(after: try date("2026-10-24T20:00:00Z"), calendar: calendar)
    #expect(first == (try date("2026-10-25T00:30:00Z")))
    #expect(time.next(after: first, calendar: calendar) == (try date("2026-10-26T01:30:00Z")))
    #expect(DailyTime("8:05")?.description == "08:05")
    for text in ["", "8", "24:00", "08:60", "8:5", "-1:00", "08:00:00", "０8:00"] {
      #expect(DailyTime(text) == nil, "\(text)")
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

/// Waits until a condition holds, at most 30 s.
func eventually(_ condition: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(30)
  while try await !condition() {
    guard ContinuousClock.now < end else { throw TestFailure("the condition did not become true") }
    try await Task.sleep(for: .milliseconds(10))
  }
}
