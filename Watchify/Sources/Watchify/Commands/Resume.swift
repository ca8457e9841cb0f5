import CofferTerminal
import WatchifyKit

/// Runs `watchify resume`: ends pauses early.
func resume(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    let store = try invocation.text(at: 0).map { try session.store($0, .resume) }
    let ended = try await session.service.resume(storeId: store?.id)
    if invocation.has(.json) {
      try print(.object([("ended", .list(ended.map(\.json)))]))
      return .ok
    }
    if ended.isEmpty { try printLine(store.map { "\($0.domain) is not paused." } ?? "No store is paused.") }
    for rest in ended {
      let subject = rest.shop.map(\.domain) ?? "all stores"
      try printLine("The pause of \(subject) until \(Moment.text(rest.until)) has ended: syncing resumes.")
    }
    return .ok
  }
}

extension RequestGate.Rest {
  /// The pause as JSON; `store` is null for a pause of all stores.
  var json: JSON { .object([("store", .optional(shop?.domain)), ("until", .date(until))]) }
}
