import CofferCore
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

private func news(
  _ body: String = "3 price drops", of thread: String = "store-1", _ priority: NotificationPriority = .active
) -> NotificationContent {
  NotificationContent(title: "Allbirds", body: body, threadIdentifier: thread, priority: priority)
}

/// Replacements in memory that outlive a channel.
private actor KeptReplacements: DesktopReplacements {
  private var kept: [(thread: String, replacement: DesktopReplacement)] = []
  func replacement(forThread thread: String) -> DesktopReplacement? {
    kept.last { $0.thread == thread }?.replacement
  }
  func remember(_ replacement: DesktopReplacement, forThread thread: String) { kept.append((thread, replacement)) }
}

private struct BrokenReplacements: DesktopReplacements {
  func replacement(forThread thread: String) throws -> DesktopReplacement? { throw TestFailure("the disk is full") }
  func remember(_ replacement: DesktopReplacement, forThread thread: String) throws {
    throw TestFailure("the disk is full")
  }
}

@Suite(
  .serialized, .timeLimit(.minutes(15)), .enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed"))
struct DesktopChannelTests {
  /// Returns the reason of a failed delivery, which must be temporary.
  private func refusal(_ channel: DesktopChannel, _ content: NotificationContent = news()) async -> String {
    do {
      try await channel.deliver(content)
      return "delivered"
    } catch let error as ChannelError {
      return error.isTemporary ? error.reason : "for good: \(error.reason)"
    } catch {
      return "\(error)"
    }
  }

  // Requirement 2.43
  @Test func whatTheServerIsAskedToShow() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let channel = DesktopChannel(environment: bus.environment)
    #expect(channel.name == "desktop")
    #expect(await channel.availability() == .available(detail: "stub 1.2"))
    #expect(stub.shown.isEmpty, "checking availability shows nothing")
    try await channel.deliver(news("3 price drops", of: "store-1", .passive))
    try await channel.deliver(news("1 back in stock", of: "store-2", .active))
    try await channel.deliver(news("1 back in stock", of: "store-3", .timeSensitive))
    let shown = stub.shown
    try #require(shown.count == 3)
    #expect(shown.map(\.appName) == ["Watchify", "Watchify", "Watchify"])
    #expect(shown.map(\.summary) == ["Allbirds", "Allbirds", "Allbirds"])
    #expect(shown.map(\.body) == ["3 price drops", "1 back in stock", "1 back in stock"])
    #expect(shown.map(\.replacedId) == [0, 0, 0])
    #expect(shown.map(\.timeout) == [-1, -1, -1])
    #expect(shown[0].hints == ["urgency=0x00", "desktop-entry='watchify'", "suppress-sound=true"])
    #expect(shown[1].hints == ["urgency=0x01", "desktop-entry='watchify'"])
    #expect(shown[2].hints == ["urgency=0x01", "desktop-entry='watchify'", "sound-name='message-new-instant'"])
    #expect(stub.questions == 1, "the capabilities of a server are requested once")
    try await stub.stop()
  }

  // Requirement 2.43
  @Test func criticalOnlyWhenAsked() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let channel = DesktopChannel(criticalWhenTimeSensitive: true, environment: bus.environment)
    for priority in [NotificationPriority.passive, .active, .timeSensitive] {
      try await channel.deliver(news("x", of: "store-\(priority)", priority))
    }
    #expect(stub.shown.map { $0.hints.first } == ["urgency=0x00", "urgency=0x01", "urgency=0x02"])
    try await stub.stop()
  }

  // Requirement 2.47
  @Test func aStoreHasOneBubble() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, firstId: 41)
    let kept = KeptReplacements()
    let channel = DesktopChannel(replacements: kept, environment: bus.environment)
    for thread in ["store-1", "store-2", "store-1", "store-2"] { try await channel.deliver(news(of: thread)) }
    #expect(stub.shown.map(\.replacedId) == [0, 0, 41, 42])
    // Another channel, as after a restart, with the first one's replacements, and one without.
    try await DesktopChannel(replacements: kept, environment: bus.environment).deliver(news(of: "store-2"))
    try await DesktopChannel(environment: bus.environment).deliver(news(of: "store-2"))
    #expect(stub.shown.dropFirst(4).map(\.replacedId) == [42, 0])
    try await stub.stop()
  }

  @Test func deliveriesAtOnceShareTheBubble() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, firstId: 7)
    let channel = DesktopChannel(replacements: KeptReplacements(), environment: bus.environment)
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 { group.addTask { try await channel.deliver(news()) } }
      try await group.waitForAll()
    }
    #expect(stub.shown.map(\.replacedId) == [0, 7, 7, 7, 7, 7, 7, 7])
    try await stub.stop()
  }

  @Test func whatAnotherProcessHasShownSinceIsReplaced() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, firstId: 5)
    let kept = KeptReplacements()
    let watch = DesktopChannel(replacements: kept, environment: bus.environment)
    try await watch.deliver(news())
    let first = try #require(await kept.replacement(forThread: "store-1"))
    #expect(first.id == 5)
    // 'watchify sync' has shown bubble 9 since; bubble 5 was dismissed long ago.
    await kept.remember(DesktopReplacement(id: 9, server: first.server), forThread: "store-1")
    try await watch.deliver(news())
    #expect(stub.shown.map(\.replacedId) == [0, 9])
    try await stub.stop()
  }

  @Test func aLateAnswerIsHeardSoThatNothingIsShownTwice() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, .holds, firstId: 30)
    let kept = KeptReplacements()
    let channel = DesktopChannel(replacements: kept, timeout: .seconds(1), environment: bus.environment)
    #expect(await refusal(channel) == "The notification server did not reply within 1 s.")
    #expect(
      await refusal(channel, news("1 back in stock"))
        == "The notification server has not yet replied to the last notification of this store.")
    #expect(stub.shown.count == 1)
    stub.release()
    // The retry has the same content, which is already shown.
    while await refusal(channel) != "delivered" { await Task.yield() }
    #expect(stub.shown.count == 1)
    #expect(await kept.replacement(forThread: "store-1")?.id == 30)
    // Later news replaces it.
    try await channel.deliver(news("1 back in stock"))
    #expect(stub.shown.map(\.replacedId) == [0, 30])
    try await stub.stop()
  }

  @Test func anotherServersNumbersAreNotUsed() async throws {
    let bus = try await PrivateBus.start()
    let first = try await StubServer.start(on: bus, firstId: 9)
    let kept = KeptReplacements()
    let channel = DesktopChannel(replacements: kept, environment: bus.environment)
    try await channel.deliver(news())
    try await first.stop()
    let second = try await StubServer.start(on: bus, capabilities: ["body"], firstId: 100)
    try await channel.deliver(news("a < b"))
    try await channel.deliver(news())
    #expect(second.shown.map(\.replacedId) == [0, 100])
    #expect(second.shown.first?.body == "a < b", "the new server is asked what it can")
    try await second.stop()
  }

  @Test func anotherBusWithTheSameNamesIsAnotherServer() async throws {
    let kept = KeptReplacements()
    for _ in 0..<2 {
      let bus = try await PrivateBus.start()
      let stub = try await StubServer.start(on: bus)
      try await DesktopChannel(replacements: kept, environment: bus.environment).deliver(news())
      #expect(stub.shown.map(\.replacedId) == [0])
      try await stub.stop()
    }
  }

  @Test func aStoreOfReplacementsThatFailsHoldsNothingUp() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let channel = DesktopChannel(replacements: BrokenReplacements(), environment: bus.environment)
    try await channel.deliver(news())
    try await channel.deliver(news())
    #expect(stub.shown.map(\.replacedId) == [0, 1])
    try await stub.stop()
  }

  @Test(arguments: [
    (["body", "body-markup"], "A & B", "&lt;b&gt;5 &amp; 6&lt;/b&gt;"), (["body"], "A & B", "<b>5 & 6</b>"),
    ([], "A & B: <b>5 & 6</b>", ""),
  ])
  func whatTheServerCan(capabilities: [String], summary: String, body: String) async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, capabilities: capabilities)
    let channel = DesktopChannel(environment: bus.environment)
    try await channel.deliver(
      NotificationContent(title: "A & B", body: "<b>5 & 6</b>", threadIdentifier: "s", priority: .active))
    #expect(stub.shown.map(\.summary) == [summary])
    #expect(stub.shown.map(\.body) == [body])
    try await stub.stop()
  }

  @Test func textsThatABusCannotCarryAsTheyAre() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let channel = DesktopChannel(environment: bus.environment)
    try await channel.deliver(
      NotificationContent(
        title: "Shop\u{0}\n\u{1B}[31m", body: "one\ntwo\u{0}<\u{301}é 👟", threadIdentifier: "\u{0}", priority: .active))
    #expect(stub.shown.first?.summary == "Shop   [31m")
    #expect(stub.shown.first?.body == "one\ntwo &lt;\u{301}é 👟")
    try await stub.stop()
  }

  // MARK: Servers that fail

  @Test func aServerThatHangsIsGivenUp() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, .hangs)
    // Long enough to reach the server on a busy machine.
    let channel = DesktopChannel(timeout: .seconds(1), environment: bus.environment)
    let reason = "The notification server did not reply within 1 s."
    #expect(await refusal(channel) == reason)
    #expect(await channel.availability() == .unavailable(reason: reason))
    stub.behave(.shows)
    let patient = DesktopChannel(environment: bus.environment)
    try await patient.deliver(news())
    #expect(stub.shown.count == 1)
    try await stub.stop()
  }

  @Test func aServerThatRefuses() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus, .refuses)
    let channel = DesktopChannel(environment: bus.environment)
    #expect(
      await refusal(channel) == "The notification server failed: Created too many similar notifications.")
    stub.behave(.shows)
    try await channel.deliver(news())
    #expect(stub.shown.map(\.replacedId) == [0])
    try await stub.stop()
  }

  @Test func aServerThatVanishes() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let channel = DesktopChannel(environment: bus.environment)
    try await channel.deliver(news())
    stub.behave(.vanishes)
    #expect(await refusal(channel) == "The notification server exited before it replied.")
    let nobody = "No notification server is running on the session bus, and none can be started."
    #expect(await refusal(channel) == nobody)
    #expect(await channel.availability() == .unavailable(reason: nobody))
    let next = try await StubServer.start(on: bus)
    try await channel.deliver(news())
    #expect(next.shown.map(\.replacedId) == [0])
    try await next.stop()
  }

  @Test func aServerThatCannotBeStarted() async throws {
    let bus = try await PrivateBus.start(server: "/bin/false")
    let channel = DesktopChannel(environment: bus.environment)
    let reason = "The notification server failed: Process org.freedesktop.Notifications exited with status 1."
    #expect(await refusal(channel) == reason)
    #expect(await channel.availability() == .unavailable(reason: reason))
  }

  @Test func aBusThatRestarts() async throws {
    let address = Locked("")
    let channel = DesktopChannel { name in name == "DBUS_SESSION_BUS_ADDRESS" ? address.withLock { $0 } : nil }
    for _ in 0..<2 {
      let bus = try await PrivateBus.start()
      address.withLock { $0 = bus.address }
      let stub = try await StubServer.start(on: bus)
      try await channel.deliver(news())
      #expect(stub.shown.map(\.replacedId) == [0])
      try await bus.stop()
    }
  }

  // MARK: No bus

  @Test func aBusThatHangsIsGivenUp() async throws {
    let socket = try SilentSocket()
    let address = socket.address
    let channel = DesktopChannel(timeout: .milliseconds(50)) { $0 == "DBUS_SESSION_BUS_ADDRESS" ? address : nil }
    #expect(
      await refusal(channel) == "The session bus at '\(address)' cannot be reached: no reply within 0.05 s.")
    withExtendedLifetime(socket) {}
  }

  @Test func aBusThatHasGone() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    let channel = DesktopChannel(environment: bus.environment)
    try await channel.deliver(news())
    try await bus.stop()
    withExtendedLifetime(stub) {}
    let reason = await refusal(channel)
    #expect(reason.hasPrefix("The session bus at '\(bus.address)' cannot be reached: "), "\(reason)")
  }

  @Test func withoutTheLibrary() throws {
    let folder = try TemporaryDirectory()
    try Data("no library".utf8).write(to: folder.url.appendingPathComponent("libgio-2.0.so.0"))
    let helper = try HelperProcess(
      ["desktop"], executable: "WatchifyTestHelper",
      environment: [("LD_LIBRARY_PATH", folder.url.path), ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere/bus")])
    let said = try helper.lines().joined()
    #expect(helper.wait() == 0)
    #expect(said.contains("unavailable"), "\(said)")
    #expect(said.contains("the library libgio-2.0.so.0 (Debian: libglib2.0-0) cannot be loaded: "), "\(said)")
  }

  @Test func noAddress() async throws {
    let none = DesktopChannel { _ in nil }
    let reason = "There is no desktop session: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set."
    #expect(await none.availability() == .unavailable(reason: reason))
    #expect(await refusal(none) == "for good: \(reason)")
    let folder = try TemporaryDirectory()
    let path = folder.url.path
    let early = DesktopChannel { $0 == "XDG_RUNTIME_DIR" ? path : nil }
    #expect(
      await refusal(early)
        == "There is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and there is no socket '\(path)/bus'.")
  }
}
