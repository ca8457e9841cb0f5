import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify feed`: prints news as an Atom feed.
func printFeed(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    let limit = try invocation.number(.limit, minimum: 1).map { Int(clamping: $0) }
    let feed: AtomFeed
    if let word = invocation.options[.wish] {
      guard [.store, .type, .since, .unread].allSatisfy({ !invocation.has($0) }) else {
        throw Command.mistake("--wish cannot be combined with other filters.", .feed)
      }
      feed = try await session.service.feed(ofWish: try await wish(word, session).id, limit: limit ?? 500)
    } else {
      feed = try await session.service.feed(try filter(invocation, session), limit: limit ?? 500)
    }
    let output = Output.standard
    try output.write(feed.rendered())
    try output.flush()
    return .ok
  }
}
