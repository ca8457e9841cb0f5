import CofferTerminal
import WatchifyKit

/// `watchify resume`: ends pauses before their time.
func resume(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    let store = try invocation.text(at: 0).map { try session.store($0, .resume) }
    let ended = try await session.service.resume(storeId: store?.id)
    if invocation.has(.json) {
      try print(.object([("ended", .list(ended.map(\.json)))]))
      return .ok
    }
    if ended.isEmpty { try printLine(store.map { "\($0.domain) is not resting." } ?? "No store is resting.") }
    for rest in ended {
      let words = rest.shop.map { "\($0.domain) is" } ?? "All stores are"
      try printLine("\(words) asked again with the next sync, and not only after \(Moment.text(rest.until)).")
    }
    return .ok
  }
}

extension RequestGate.Rest {
  /// For scripts; without a store it is Shopify's, and holds for all of them.
  var json: JSON { .object([("store", .optional(shop?.domain)), ("until", .date(until))]) }
}
