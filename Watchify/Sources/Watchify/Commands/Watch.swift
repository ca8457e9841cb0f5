import Coffer
import CofferLocks
import CofferTerminal
import Foundation
import WatchifyKit

/// `watchify watch`: reads all stores again and again, until a signal.
func watchStores(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    guard let mark = WatchMark(beside: session.file) else {
      throw CommandError(
        .failure, "isWatched", "Another 'watchify watch' runs on this database.",
        advice: "One is enough: the other commands work beside it.")
    }
    let (signs, sign) = AsyncStream.makeStream(of: WatchSign.self)
    let asJSON = invocation.has(.json)
    let feed = ProgressFeed(isShown: !asJSON)
    let reporter = WatchReporter(session, feed, asJSON: asJSON)
    let network = await startedMonitor()
    let notifications = await NotificationService()
    var write: (@Sendable (String) throws -> Void)?
    if !asJSON { write = { text in try feed.write("notified: " + text.drop { $0 == "\u{7}" }.dropLast()) } }
    let channels = allChannels(session, write)
    await notifications.attach(session.service, channels: channels)
    let loop = BackgroundSync(
      service: session.service, notifications: notifications, network: network,
      status: { sign.yield(.status($0)) })
    let reading = Task.detached { await loop.run() }
    let isEnding = Locked(false)
    let signals = Signals([SIGINT, SIGTERM]) {
      let isSecond = isEnding.withLock { ending in
        defer { ending = true }
        return ending
      }
      // Nothing is torn by a second one: every commit is whole or not at all.
      if isSecond { _exit(ExitStatus.interrupted.rawValue) }
      sign.yield(.end)
    }
    whenReaderLeaves { sign.yield(.end) }
    defer { withExtendedLifetime((signals, mark)) {} }
    var failure: (any Error)?
    do {
      try await reporter.begin()
      for await sign in signs {
        guard case .status(let status) = sign else { break }
        switch status {
        case .waiting(let until): mark.set(next: until)
        case .offline: break  // What was planned stays planned.
        default: mark.set(next: nil)
        }
        try await reporter.tell(status)
      }
    } catch { failure = error }
    reading.cancel()
    await reading.value
    await MainActor.run { network.stop() }
    feed.end()
    if let failure { throw failure }
    try await reporter.end()
    return .ok
  }
}

@MainActor private func startedMonitor() -> NetworkMonitor {
  NetworkMonitor.shared.start()
  return NetworkMonitor.shared
}

private enum WatchSign: Sendable {
  case status(BackgroundSync.Status)
  case end
}

/// Says what the loop does: news as lines, and on a terminal a line at the bottom that is drawn over itself.
private final class WatchReporter {
  private let session: Session
  private let asJSON: Bool
  private let isTerminal = Output.error.isTerminal
  private let feed: ProgressFeed
  /// What was told already.
  private var seen: Set<UUID> = []
  private var since = Date()
  private var channels = ""
  private var lastErrors: [UUID: String] = [:]
  /// The pauses of single stores that were told.
  private var pauses: [RequestGate.Rest] = []

  init(_ session: Session, _ feed: ProgressFeed, asJSON: Bool) {
    self.session = session
    self.feed = feed
    self.asJSON = asJSON
  }

  func begin() async throws {
    for event in try await session.service.events(EventFilter(startDate: since.addingTimeInterval(-60)), limit: 10_000)
    {
      seen.insert(event.id)
    }
    since = since.addingTimeInterval(-60)
    channels = try await channelSummary(session)
    guard !asJSON else { return }
    let count = session.stores.count
    try feed.write(
      count == 0
        ? "You follow no store yet: 'watchify add ADDRESS' in another terminal follows one."
        : "Watching \(counted(count, "store")); \(channels). Ctrl-C ends.")
  }

  func tell(_ status: BackgroundSync.Status) async throws {
    // What was found before the loop began to wait is told before that.
    if case .syncing = status {} else { try await tellNews() }
    let now = Moment.time(Date())
    switch status {
    case .syncing:
      let count = try await session.service.storeIds().count
      try say("\(now) reading \(counted(count, "store"))", "syncing", nil)
    case .waiting(let until):
      let looked = try await session.service.stores().compactMap(\.lastFetchedAt).max()
      let last = looked.map { "looked \(Moment.text($0)), " } ?? ""
      try say("\(now) \(last)next check \(Moment.text(until))", "waiting", until, bottom: channels)
    case .resting(let until):
      try say("\(now) resting until \(Moment.text(until)): Shopify has asked for a pause", "resting", until)
    case .failed(let words): try say("\(now) the database failed: \(words.oneLine())", "failed", nil)
    case .offline: try say("\(now) no network: reading goes on when it is back", "offline", nil)
    }
  }

  /// Ends in good order: what was found last is told, too.
  func end() async throws {
    try await tellNews()
    if !asJSON { try feed.write("Ended. What is known stays.") }
  }

  private func say(_ text: String, _ word: String, _ until: Date?, bottom: String = "") throws {
    if asJSON {
      try print(.object([("at", .date(Date())), ("status", .text(word)), ("until", .date(until))]))
    } else if isTerminal {
      feed.show(bottom.isEmpty ? text : "\(text) · \(bottom)")
    } else {
      try feed.write(text)
    }
  }

  /// What has happened since the last time, whoever has read the stores.
  private func tellNews() async throws {
    let start = since
    let events = try await session.service.events(EventFilter(startDate: start), limit: 10_000)
    let fresh = events.filter { !seen.contains($0.id) }
    for event in fresh { seen.insert(event.id) }
    if asJSON {
      for event in fresh.reversed() {
        try print(.object([("at", .date(event.occurredAt)), ("event" as StaticString, event.json)]))
      }
    } else {
      let window = try await session.container.settings.get(StorageKeys.activityGroupingWindowMinutes)
      for group in ActivityGroup.groups(of: fresh, windowMinutes: window).reversed() {
        guard let event = group.events.first else { continue }
        let subject = [event.storeName ?? "", event.productTitle].filter { !$0.isEmpty }.map { $0.oneLine(limit: 60) }
        try feed.write("\(Moment.time(event.occurredAt)) \(subject.joined(separator: ", ")): \(group.gluedText)")
      }
    }
    if let newest = events.first?.occurredAt {
      since = newest.addingTimeInterval(-60)
      seen.formIntersection(events.lazy.filter { $0.occurredAt >= self.since }.map(\.id))
    }
    try await tellErrors()
    try await tellPauses()
  }

  /// Whose pause it is, and until when; each once.
  private func tellPauses() async throws {
    let rests = try await session.service.rests().filter { $0.shop != nil }
    let old = pauses
    pauses = rests
    for rest in rests where !old.contains(where: { $0.shop == rest.shop && $0.until == rest.until }) {
      guard let domain = rest.shop?.domain else { continue }
      if asJSON {
        try print(
          .object([
            ("at", .date(Date())), ("status", .text("paused")), ("store", .text(domain)), ("until", .date(rest.until)),
          ]))
      } else {
        try feed.write(
          "\(domain): asked us to slow down; paused until \(Moment.text(rest.until)). "
            + "'watchify resume \(domain)' ends that.")
      }
    }
  }

  /// Each store's failure once, and its end.
  private func tellErrors() async throws {
    for store in try await session.service.stores() {
      let old = lastErrors[store.id]
      lastErrors[store.id] = store.lastError
      guard store.lastError != old, !asJSON else { continue }
      let name = store.name.oneLine(limit: 60)
      guard let error = store.lastError else {
        try feed.write("\(name): reads again")
        continue
      }
      let since = store.lastFetchedAt.map { " Showing data from \(Moment.text($0))." } ?? ""
      try feed.write("\(name): \(error.oneLine())\(since)")
    }
  }
}
