import Coffer
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("Daily digests", .timeLimit(.minutes(5))) struct DigestTests {
  /// Adds a webhook with a daily digest to a workshop.
  private func add(port: Int, _ time: DailyTime, _ workshop: Workshop, _ secrets: ChannelSecrets) async throws {
    let (service, channel) = (workshop.service, workshop.channel)
    await workshop.notifications.attach(service, channels: [channel], secrets: secrets)
    #expect(try await service.addChannel(try await localChannel(port: port, digest: time, secrets: secrets)))
  }

  @Test("A digest waits for its time, survives a restart, and covers all stores in one message")
  func digest() async throws {
    let server = try ScriptedServer([.status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let one = try await workshop.follow([product(1)])
      let two = try await workshop.follow([product(1)], domain: "two.example")
      let minutes = Calendar.current.component(.hour, from: workshop.clock.now) * 60
      let time = try #require(DailyTime(minutes: (minutes + 180) % 1_440))
      try await add(port: server.port, time, workshop, secrets)
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

  /// What the readers of a digest were told.
  private struct Readers {
    var price = "100.00"
    var isAvailable = true
    var wishes = 0

    mutating func read(_ body: Data) throws {
      let body = try #require(try JSONSerialization.jsonObject(with: body) as? NSDictionary)
      #expect(body["kind"] as? String == "news", "\(body)")
      for event in try #require(body["events"] as? [NSDictionary]) {
        switch event["type"] as? String {
        case "priceDropped" where event["productId"] as? Int == 1,
          "priceIncreased" where event["productId"] as? Int == 1:
          #expect(event["oldPrice"] as? String == price, "nothing is left out, and nothing told twice")
          price = try #require(event["newPrice"] as? String)
        case "backInStock": isAvailable = true
        case "outOfStock": isAvailable = false
        case "wishFulfilled": wishes += 1
        default: break
        }
      }
    }
  }

  @Test(
    "A month with changes each day is told in full, whatever the hours of the reads", arguments: [[0], [0, 5, 11]])
  func month(hours: [Int]) async throws {
    let server = try ScriptedServer([.status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let (time, first) = (try #require(DailyTime("08:00")), try #require(DailyTime("08:05")))
      let id = try await workshop.follow([product(1), product(2), product(3)])
      try await add(port: server.port, time, workshop, secrets)
      _ = try await workshop.service.addWish(.product(storeId: id, productId: 3), .priceAtMost(50))
      workshop.clock.turn(first.next(after: workshop.clock.now).timeIntervalSince(workshop.clock.now))
      var (readers, reads) = (Readers(), [(at: Date.distantPast, price: "100.00", isAvailable: true)])
      for day in 0..<30 {
        let morning = workshop.clock.now
        for (index, hour) in hours.enumerated() {
          workshop.clock.turn(morning.addingTimeInterval(3_600 * Double(hour)).timeIntervalSince(workshop.clock.now))
          let price = "\(60 + (day * hours.count + index) * 7 % 80).00"
          var sized = product(2)
          sized.variants[0].available = (day / 2).isMultiple(of: 2)
          reads.append((workshop.clock.now, price, sized.variants[0].available))
          let wished = product(3, prices: [(day / 3).isMultiple(of: 2) ? "\(49 - day)" : "100"])
          try await workshop.sync(id, [product(1, prices: [price]), sized, wished])
          let count = server.log.count
          try await workshop.notifications.sendPending()
          for request in server.log.dropFirst(count) { try readers.read(request.body) }
          // What was read before the last digest is told.
          let due = time.next(after: workshop.clock.now).addingTimeInterval(-86_400)
          let known = reads.suffix(from: try #require(reads.lastIndex { $0.at <= due }))
          #expect(known.contains { $0.price == readers.price }, "\(day): \(readers), \(reads)")
          #expect(known.contains { $0.isAvailable == readers.isAvailable }, "\(day): \(readers), \(reads)")
        }
        workshop.clock.turn(morning.addingTimeInterval(86_400).timeIntervalSince(workshop.clock.now))
      }
      #expect(server.log.count >= 15 && readers.wishes == 5, "\(readers) \(server.log.count)")
      #expect(try await workshop.service.channelState("hook").missed == 0)
    }
  }

  @Test("A device that is off for a week tells its digest afterwards, also if the network is not there at once")
  func off() async throws {
    let server = try ScriptedServer([.status(503), .status(204)])
    defer { server.stop() }
    try await Workshop.use { workshop in
      let secrets = temporarySecrets(workshop.directory)
      let id = try await workshop.follow([product(1), product(2)])
      try await add(port: server.port, try #require(DailyTime("08:00")), workshop, secrets)
      try await workshop.sync(id, [product(1, prices: ["90"]), product(2)])
      workshop.clock.turn(7 * 24 * 3_600)
      try await workshop.sync(id, [product(1, prices: ["80"]), product(2, prices: ["70"])])
      for _ in 1...2 {
        try await workshop.notifications.sendPending()
        try await workshop.service.deleteWhatIsTooOld()
        workshop.clock.turn(120)
      }
      #expect(server.log.count == 2)
      let body = String(decoding: server.log.last?.body ?? Data(), as: UTF8.self)
      #expect(body.contains("80.00") && body.contains("100.00") && !body.contains("70.00"), "\(body)")
      #expect(try await workshop.service.channelState("hook").missed == 0)
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

  private static let zones = [
    "Australia/Lord_Howe", "Europe/Berlin", "America/St_Johns", "Asia/Beirut", "Atlantic/Azores", "America/Santiago",
    "Africa/Casablanca", "Pacific/Apia", "UTC",
  ]

  @Test("Every day has its digest, once, whatever the clock leaves out", arguments: zones)
  func everyDay(zone: String) throws {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(identifier: zone))
    for text in ["00:00", "00:30", "01:59", "02:10", "02:30", "03:00", "23:30"] {
      let time = try #require(DailyTime(text))
      var date = try Date("2026-01-01T12:00:00Z", strategy: .iso8601)
      var days: [Int] = []
      for _ in 0..<730 {
        let next = time.next(after: date, calendar: calendar)
        #expect(next > date && next.timeIntervalSince(date) <= 25 * 3_600 + 1)
        let local = Int(next.timeIntervalSince1970) + calendar.timeZone.secondsFromGMT(for: next)
        days.append(local / 86_400)
        let late = local % 86_400 - time.minutes * 60
        #expect((0...3_600).contains(late), "\(text), \(next)")
        date = next
      }
      #expect(zip(days, days.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(text)")
    }
  }

  @Test("Times in a gap of half an hour or a day, and quiet hours that end in one")
  func gaps() throws {
    func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
    func calendar(_ zone: String) throws -> Calendar {
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = try #require(TimeZone(identifier: zone))
      return calendar
    }
    let (howe, berlin, apia) = (try calendar(Self.zones[0]), try calendar(Self.zones[1]), try calendar("Pacific/Apia"))
    let time = try #require(DailyTime("02:10"))
    let gap = time.next(after: try date("2026-10-03T10:00:00Z"), calendar: howe)
    #expect(gap == (try date("2026-10-03T15:30:00Z")))
    #expect(time.next(after: gap, calendar: howe) == (try date("2026-10-04T15:10:00Z")))
    // 30 December 2011 did not exist.
    #expect(time.next(after: try date("2011-12-30T00:00:00Z"), calendar: apia) == (try date("2011-12-30T10:00:00Z")))
    let night = try #require(QuietHours("22:00-02:10"))
    #expect(night.end(at: try date("2026-10-03T11:40:00Z"), calendar: howe) == gap)
    #expect(night.end(at: gap, calendar: howe) == nil)
    let short = try #require(QuietHours("22:00-02:30"))
    #expect(short.end(at: try date("2026-03-28T22:00:00Z"), calendar: berlin) == (try date("2026-03-29T01:00:00Z")))
    // 02:15 for the second time.
    #expect(short.end(at: try date("2026-10-25T01:15:00Z"), calendar: berlin) == (try date("2026-10-25T01:30:00Z")))
  }
}
