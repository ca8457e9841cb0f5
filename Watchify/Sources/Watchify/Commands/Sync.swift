import CofferRouter
import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify sync`: syncs stores and prints what changed.
func syncStores(_ invocation: Invocation) async throws -> ExitStatus {
  try await interruptible {
    try await withSession(invocation) { session in
      let stores = try session.stores(invocation)
      guard !stores.isEmpty else {
        throw CommandError(.notFound, "noStores", "You follow no store yet.", advice: firstSteps)
      }
      let asJSON = invocation.has(.json)
      let progress = ProgressFeed(isShown: !asJSON)
      defer { progress.end() }
      var outcomes: [SyncOutcome] = []
      for store in stores {
        progress.show("Syncing \(store.name.oneLine(limit: 60))")
        let outcome = try await sync(store, session)
        outcomes.append(outcome)
        progress.end()
        if !asJSON { try outcome.tell() }
        if case .invalidResponse(.resting(_, nil))? = outcome.error { break }  // The pause applies to every shop.
      }
      try await announce(session, progress, isQuiet: asJSON)
      // No watch runs that would do this when syncs are started by cron.
      try await session.service.deleteWhatIsTooOld()
      if asJSON { try print(.object([("stores", .list(outcomes.map(\.json)))])) }
      return status(outcomes, insists: invocation.has(.now))
    }
  }
}

private func sync(_ store: StoreDTO, _ session: Session) async throws -> SyncOutcome {
  do {
    let news = try await session.service.sync(store.id)
    let now = try await session.service.stores().first { $0.id == store.id }
    return SyncOutcome(store: now ?? store, news: news)
  } catch let error as SyncFailure {
    return SyncOutcome(store: store, error: error)
  }
}

/// Delivers notifications. Those that cannot be delivered stay in the outbox.
/// - Throws: The errors of reading the outbox. A channel that fails is no error.
private func announce(_ session: Session, _ progress: ProgressFeed, isQuiet: Bool) async throws {
  let notifications = await NotificationService()
  var write: (@Sendable (String) throws -> Void)?
  if !isQuiet { write = { text in try progress.write(String(text.dropLast())) } }
  let channels = allChannels(session, write)
  // Only a selected channel may count as permission.
  let chosen = (try? await session.container.settings.get(StorageKeys.notificationChannels)) ?? []
  await notifications.attach(
    session.service, channels: channels.filter { chosen.contains($0.name) }, secrets: try await session.secrets())
  try await notifications.sendPending()
}

private func status(_ outcomes: [SyncOutcome], insists: Bool) -> ExitStatus {
  let failures = outcomes.compactMap(\.error).filter { !$0.mustWait }.map { CommandError(sync: $0).status }
  if let failure = failures.first(where: { $0 != .tryAgain }) ?? failures.first { return failure }
  let waiting = outcomes.count { $0.error != nil }
  return waiting > 0 && (insists || waiting == outcomes.count) ? .tryAgain : .ok
}

/// The result of syncing one store.
struct SyncOutcome: Sendable {
  let store: StoreDTO
  var news: [ChangeEventDTO] = []
  var error: SyncFailure?

  func tell() throws {
    guard let error else {
      let summary = NotificationContent(of: news)?.body ?? "nothing new"
      let remark = store.lastError.map { " (\($0.oneLine()))" } ?? ""
      return try printText("\(store.name.oneLine(limit: 60)): \(summary)\(remark)")
    }
    let failure = CommandError(sync: error, store: store)
    try Output.error.note(failure.text.oneLine(), after: "watchify:")
  }

  var json: JSON {
    let failure = error.map { CommandError(sync: $0, store: store) }
    var wait = JSON.none
    if case .rateLimited(let seconds)? = error { wait = JSON.number(Int(max(1, seconds.rounded(.up)))) }
    return .object([
      ("id", .text(store.id.uuidString)), ("name", .text(store.name)),
      ("news", .number(news.count)), ("summary", .optional(NotificationContent(of: news)?.body)),
      ("events", .list(news.map(\.json))), ("lastFetchedAt", .date(store.lastFetchedAt)),
      ("error", .optional(failure?.code)), ("message", .optional(failure?.message)),
      ("retryAfter" as StaticString, wait),
    ])
  }
}
