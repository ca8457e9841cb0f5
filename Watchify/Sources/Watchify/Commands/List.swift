import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify list`: prints the followed stores.
func listStores(_ invocation: Invocation) async throws -> ExitStatus {
  let prefix = try invocation.text(at: 0)?.lowercased() ?? ""
  return try await withSession(invocation) { session in
    let stores = session.stores.filter { prefix.isEmpty || $0.name.lowercased().hasPrefix(prefix) }
    let output = Output.standard
    if invocation.has(.null) {
      for store in stores { try output.write(store.name + "\0") }
    } else if invocation.has(.json) {
      try output.writeLine(try await json(stores, session).line)
    } else if session.stores.isEmpty {
      try output.writeText("You follow no store yet. \(firstSteps)")
    } else {
      try output.writeText(try await summary(session), style: output.style.dim)
      try await output.write(table(stores, session))
      try tellErrors(stores, output)
    }
    try output.flush()
    return .ok
  }
}

/// Returns the status line, such as "12 unread · synced 14:02 · next sync 14:32 · desktop: ok (gnome-shell 43.9)"
private func summary(_ session: Session) async throws -> String {
  var parts = ["\(grouped(try await session.service.unreadCount())) unread"]
  if let last = session.stores.compactMap(\.lastFetchedAt).max() { parts.append("synced \(Moment.text(last))") }
  let rests = try await session.service.rests()
  if let rest = rests.first(where: { $0.shop == nil }) {
    parts.append("paused until \(Moment.text(rest.until))")
  } else {
    let watch = WatchMark.look(beside: session.file)
    switch (watch.isWatched, watch.next) {
    case (false, _): parts.append("no watch is running: run 'watchify watch'")
    case (true, let next?): parts.append("next sync \(Moment.text(next))")
    case (true, nil): parts.append("syncing now")
    }
  }
  for rest in rests {
    if let shop = rest.shop { parts.append("\(shop.domain) paused until \(Moment.text(rest.until))") }
  }
  parts.append(try await channelSummary(session))
  return parts.joined(separator: " · ")
}

private func table(_ stores: [StoreDTO], _ session: Session) async throws -> Columns {
  var columns = Columns(
    .text, .left, .right, .left, .right, .left, .left,
    heading: ["STORE", "ADDRESS", "PRODUCTS", "PRICES", "UNREAD", "SYNCED", "ID"])
  for store in stores {
    let unread = try await session.service.unreadCount(EventFilter(storeId: store.id))
    let market = [store.currency, store.country.map { "(\($0))" }].compactMap { $0 }.joined(separator: " ")
    let isFailing = store.lastError != nil
    columns.add(
      [
        store.name.oneLine(limit: longestTitle), store.domain, grouped(store.cachedProductCount), market,
        grouped(unread), store.lastFetchedAt.map { Moment.text($0) } ?? "never",
        store.id.uuidString.prefix(8).lowercased(),
      ]) { isFailing ? $0.yellow($1) : $1 }
  }
  return columns
}

private func tellErrors(_ stores: [StoreDTO], _ output: Output) throws {
  for store in stores {
    guard let error = store.lastError else { continue }
    let since = store.lastFetchedAt.map { " Showing data from \(Moment.text($0))." } ?? ""
    try output.note("\(error.oneLine())\(since)", after: "\(store.name.oneLine(limit: 60)):")
  }
}

private func json(_ stores: [StoreDTO], _ session: Session) async throws -> JSON {
  var list: [JSON] = []
  for store in stores {
    let unread = try await session.service.unreadCount(EventFilter(storeId: store.id))
    list.append(.object(store.members + [("unread", .number(unread))]))
  }
  let watch = WatchMark.look(beside: session.file)
  return .object([
    ("stores", .list(list)), ("unread", .number(try await session.service.unreadCount())),
    ("isWatched", .flag(watch.isWatched)), ("nextSync", .date(watch.next)),
    ("restingUntil", .date(try await session.service.restingUntil())),
    ("rests", .list(try await session.service.rests().map(\.json))),
  ])
}

extension StoreDTO {
  /// The members of the store's JSON object.
  var members: [(StaticString, JSON)] {
    [
      ("id", .text(id.uuidString)), ("name", .text(name)), ("domain", .text(domain)), ("country", .optional(country)),
      ("currency", .optional(currency)), ("products", .number(cachedProductCount)), ("addedAt", .date(addedAt)),
      ("lastFetchedAt", .date(lastFetchedAt)), ("lastAttemptAt", .date(lastAttemptAt)),
      ("lastError", .optional(lastError)), ("isClosed", .flag(isClosed)),
      ("unreadableProducts", .number(unreadableProducts)), ("unreadableVariants", .number(unreadableVariants)),
    ]
  }
}
