import CofferRouter
import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify activity`: prints the changes, newest first.
func listActivity(_ invocation: Invocation) async throws -> ExitStatus {
  let limit = Int(clamping: try invocation.number(.limit, minimum: 1) ?? 50)
  return try await withSession(invocation) { session in
    let filter = try filter(invocation, session)
    let groups = try await groups(filter, limit: limit, session)
    let output = Output.standard
    if invocation.has(.json) {
      try output.writeLine(
        JSON.object([
          ("unread", .number(try await session.service.unreadCount(filter))), ("groups", .list(groups.map(\.json))),
        ]).line)
    } else if groups.isEmpty {
      let isFiltered = filter != EventFilter()
      try output.writeText(
        session.stores.isEmpty
          ? "You follow no store yet. \(firstSteps)"
          : isFiltered ? "No matching news." : "Nothing has changed since your stores were added.")
    } else {
      try output.write(activityText(groups, namesStores: filter.storeId == nil && session.stores.count > 1, output))
    }
    try output.flush()
    return .ok
  }
}

/// Returns the event filter that the options describe.
func filter(_ invocation: Invocation, _ session: Session) throws -> EventFilter {
  EventFilter(
    storeId: try invocation.options[.store].map { try session.store($0, invocation.command).id },
    changeTypes: try TypeName.types(invocation.values(.type), invocation.command),
    startDate: try invocation.options[.since].map { try start($0, invocation.command) },
    unreadOnly: invocation.has(.unread))
}

/// Returns the date that a value of `--since` denotes.
private func start(_ text: String, _ command: Command) throws -> Date {
  let calendar = Calendar.current
  let today = calendar.startOfDay(for: Date())
  if text == "today" { return today }
  if text.hasSuffix("d"), let days = Int(text.dropLast()), (1...36_500).contains(days) {
    return calendar.date(byAdding: .day, value: 1 - days, to: today) ?? today
  }
  if let date = Moment.date(text) { return date }
  throw Command.mistake("--since takes today, a number of days such as 7d, or a date such as 2026-01-31.", command)
}

/// Returns the first `limit` groups of events. Pages of events are read until each of these groups is complete.
func groups(_ filter: EventFilter, limit: Int, _ session: Session) async throws -> [ActivityGroup] {
  let window = try await session.container.settings.get(StorageKeys.activityGroupingWindowMinutes)
  var events: [ChangeEventDTO] = []
  while true {
    let page = try await session.service.events(filter, offset: events.count, limit: 500)
    events += page
    let groups = ActivityGroup.groups(of: events, windowMinutes: window)
    // One more than wanted, because the last group may continue on the next page.
    if page.count < 500 || groups.count > limit { return Array(groups.prefix(limit)) }
  }
}

/// Returns the groups as rows under headings with their days.
func activityText(_ groups: [ActivityGroup], namesStores: Bool, _ output: Output, margin: Int = 0) -> String {
  // Without a terminal the width is unlimited.
  let width = output.columns == .max ? .max : output.columns - margin
  var rows = Columns(.left, .left, .left, .text, .text)
  for group in groups {
    guard let event = group.events.first else { continue }
    let subject = event.productTitle.isEmpty ? event.storeName ?? "" : event.productTitle
    let isUnread = group.isUnread
    let store = namesStores && !event.productTitle.isEmpty ? " (\((event.storeName ?? "").oneLine(limit: 32)))" : ""
    rows.add([
      event.shortID, isUnread ? "*" : " ", Moment.time(event.occurredAt), subject.oneLine(limit: longestTitle),
      group.gluedText + store,
    ]) { isUnread ? $1 : $0.dim($1) }
  }
  var text = ""
  var day = ""
  for (group, line) in zip(groups, rows.lines(output.style, indent: "  ", width: width)) {
    let date = group.events.first.map { Moment.day($0.occurredAt) } ?? day
    if date != day { text += output.style.bold(date) + "\n" }
    day = date
    text += line + "\n"
  }
  return text
}

extension ActivityGroup {
  /// The group as JSON.
  var json: JSON {
    let event = events.first
    return .object([
      ("category", .text((event?.changeType.category ?? .product).rawValue.lowercased())), ("text", .text(text)),
      ("at", .date(event?.occurredAt)), ("isUnread", .flag(isUnread)), ("store", .optional(event?.storeName)),
      ("storeId", .optional(event?.storeId?.uuidString)), ("product", .optional(event?.productTitle)),
      ("productId", .id(event?.productShopifyId)), ("events", .list(events.map(\.json))),
    ])
  }
}

/// Runs `watchify read`: marks events as read.
func markRead(_ invocation: Invocation) async throws -> ExitStatus {
  let words = try invocation.texts()
  let isFiltered = [.store, .type, .since].contains { invocation.has($0) }
  guard [!words.isEmpty, invocation.has(.all), isFiltered].count(where: { $0 }) == 1 else {
    throw Command.mistake("'read' takes events, or --all, or some of --store, --type and --since.", .read)
  }
  return try await withSession(invocation) { session in
    let before = try await session.service.unreadCount()
    if words.isEmpty {
      try await session.service.markRead(try filter(invocation, session))
    } else {
      var ids: [UUID] = []
      for word in words { ids += try await row(of: word, session) }
      try await session.service.markRead(ids: ids)
    }
    let after = try await session.service.unreadCount()
    if invocation.has(.json) {
      try print(.object([("marked", .number(max(0, before - after))), ("unread", .number(after))]))
    } else {
      let news = counted(max(0, before - after), "piece of news", plural: "pieces of news")
      try printLine("Marked \(news) as read; \(grouped(after)) unread.")
    }
    return .ok
  }
}

/// Returns the ids of all events of the row that an id prefix identifies.
private func row(of word: String, _ session: Session) async throws -> [UUID] {
  let found = try await session.service.events(idPrefix: word)
  guard let event = found.first else {
    throw CommandError(
      .notFound, "eventNotFound", "There is no event '\(word.oneLine(limit: 40))'.",
      advice: "See 'watchify activity'. Nothing was marked.")
  }
  guard found.count == 1 else {
    throw Command.mistake("'\(word.oneLine(limit: 40))' is ambiguous: several ids begin with it.", .read)
  }
  let window = try await session.container.settings.get(StorageKeys.activityGroupingWindowMinutes)
  let near = try await session.service.events(around: event, within: 86_400)
  let rows = ActivityGroup.groups(of: near, windowMinutes: window)
  return rows.first { $0.events.contains { $0.id == event.id } }?.events.map(\.id) ?? [event.id]
}
