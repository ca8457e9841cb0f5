import CofferCore
import CofferRouter
import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify watch`: syncs all stores at intervals until a signal.
func watchStores(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { try await watch($0, invocation, page: nil) }
}

/// Syncs all stores at intervals until a signal, and serves a page if there is one.
/// - Parameters:
///   - session: the session.
///   - invocation: the command.
///   - page: the page, which may be running already.
///   - mark: the lock of the watch; `nil` to take it.
///   - ending: what ends the watch.
func watch(
  _ session: Session, _ invocation: Invocation, page: WebPage?, mark: WatchMark? = nil, ending: Ending = Ending()
) async throws -> ExitStatus {
  guard let mark = mark ?? WatchMark(beside: session.file) else {
    throw CommandError(
      .failure, "isWatched", "Another process watches the stores of this database.",
      advice: "One is enough: end the other 'watchify watch' or 'watchify serve'. Other commands can run beside it.")
  }
  mark.set(next: nil, servesPage: page != nil)
  let (signs, sign) = AsyncStream.makeStream(of: WatchSign.self)
  let asJSON = invocation.has(.json)
  let feed = ProgressFeed(isShown: !asJSON)
  let reporter = WatchReporter(session, feed, asJSON: asJSON)
  let network = await startedMonitor()
  let notifications = await NotificationService()
  var write: (@Sendable (String) throws -> Void)?
  if !asJSON { write = { text in try feed.write("notified: " + text.drop { $0 == "\u{7}" }.dropLast()) } }
  let channels = allChannels(session, write)
  let secrets = try await session.secrets()
  await notifications.attach(session.service, channels: channels, secrets: secrets)
  let isServed = page?.url != nil
  let deliver: @Sendable ([ChangeEventDTO]) async -> Void = { await notifications.send(for: $0) }
  if isServed {
    page?.deliver.withLock { $0 = deliver }
  } else {
    try await page?.start(PageChannels(channels, secrets, session), deliver: deliver)
  }
  let report = ServiceReport(Watchify.service.notifier)
  defer { report.end() }
  let loop = BackgroundSync(
    service: session.service, notifications: notifications, network: network, pulse: report.pulse,
    status: { status in
      report.tell(status)
      sign.yield(.status(status))
    })
  let syncing = Task.detached { await loop.run() }
  ending.whenAsked { sign.yield(.end) }
  let database = DatabaseWatch(session) { sign.yield(.lost($0)) }
  defer { withExtendedLifetime((ending, mark, database)) {} }
  var failure: (any Error)?
  do {
    try await reporter.begin()
    if let page, !isServed { try page.tell(feed, asJSON: asJSON) }
    report.begin(watching: try await session.service.storeIds().count)
    for await sign in signs {
      if case .lost(let error) = sign { throw error }
      guard case .status(let status) = sign else { break }
      switch status {
      case .waiting(let until):
        mark.set(next: until, servesPage: page != nil)
        page?.next.withLock { $0 = until }
      case .offline: break  // The planned sync remains.
      default:
        mark.set(next: nil, servesPage: page != nil)
        page?.next.withLock { $0 = nil }
      }
      try await reporter.tell(status)
    }
  } catch { failure = error }
  report.stop()
  syncing.cancel()
  await syncing.value
  await page?.stop()
  await MainActor.run { network.stop() }
  feed.end()
  if let failure { throw failure }
  try await reporter.end()
  return .ok
}

@MainActor private func startedMonitor() -> NetworkMonitor {
  NetworkMonitor.shared.start()
  return NetworkMonitor.shared
}

private enum WatchSign: Sendable {
  case status(BackgroundSync.Status)
  case lost(any Error)
  case end
}

/// Prints what the loop does: changes as lines, and on a terminal a status line that is redrawn in place.
private final class WatchReporter {
  private let session: Session
  private let asJSON: Bool
  private let isTerminal = Output.error.isTerminal
  private let feed: ProgressFeed
  /// The events that were printed already.
  private var seen: Set<UUID> = []
  private var since = Date()
  private var channels = ""
  private var lastErrors: [UUID: String] = [:]
  /// The pauses of single stores that were printed already.
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
    let count = try await session.service.storeIds().count
    try feed.write(
      count == 0
        ? "You follow no store yet: run 'watchify add ADDRESS' in another terminal."
        : "Watching \(counted(count, "store")); \(channels). Ctrl-C ends.")
  }

  func tell(_ status: BackgroundSync.Status) async throws {
    // Changes found by the round are printed before the new status.
    if case .syncing = status {} else { try await tellNews() }
    let now = Moment.time(Date())
    switch status {
    case .syncing:
      let count = try await session.service.storeIds().count
      try say("\(now) syncing \(counted(count, "store"))", "syncing", nil)
    case .waiting(let until):
      let synced = try await session.service.stores().compactMap(\.lastFetchedAt).max()
      let last = synced.map { "synced \(Moment.text($0)), " } ?? ""
      try say("\(now) \(last)next sync \(Moment.text(until))", "waiting", until, bottom: channels)
      await session.service.releaseMemory()
    case .resting(let until):
      try say("\(now) paused until \(Moment.text(until)): Shopify has asked for a pause", "resting", until)
    case .failed(let words): try say("\(now) the database failed: \(words.oneLine())", "failed", nil)
    case .offline: try say("\(now) no network: syncing resumes when it is back", "offline", nil)
    }
  }

  /// Prints the remaining changes and the last line.
  func end() async throws {
    try await tellNews()
    if !asJSON { try feed.write("Ended. Stored data is kept.") }
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

  /// Prints the events since the last call, including those found by other processes.
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

  /// Prints each new pause of a single store once.
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
          "\(domain): has asked for a pause; paused until \(Moment.text(rest.until)). "
            + "'watchify resume \(domain)' ends that.")
      }
    }
  }

  /// Prints each new failure of a store, and its end.
  private func tellErrors() async throws {
    for store in try await session.service.stores() {
      let old = lastErrors[store.id]
      lastErrors[store.id] = store.lastError
      guard store.lastError != old, !asJSON else { continue }
      let name = store.name.oneLine(limit: 60)
      guard let error = store.lastError else {
        try feed.write("\(name): works again")
        continue
      }
      let since = store.lastFetchedAt.map { " Showing data from \(Moment.text($0))." } ?? ""
      try feed.write("\(name): \(error.oneLine())\(since)")
    }
  }
}
