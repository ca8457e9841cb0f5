import CofferCore
import WatchifyHTTP
import WatchifyKit

/// Tells open pages that something has changed, whichever process has changed it.
///
/// An event contains no news: it has the name "news" and the number of unread pieces as its data, and a page that shows
/// something requests it again. A page that falls behind therefore misses nothing, and an open page costs one stream
/// with room for one event.
final class LiveFeed: Sendable {
  private typealias Continuation = AsyncStream<ServerSentEvent>.Continuation

  private struct State {
    var last: (event: ServerSentEvent, at: ContinuousClock.Instant)?
    var pages: [Int: (peer: String, continuation: Continuation)] = [:]
    var next = 0
  }

  private let service: StoreService
  private let state = Locked(State())
  /// The beginning of all identifiers: those of an earlier process are none of this one.
  private let origin = String(UInt32.random(in: .min ... .max), radix: 36)

  init(service: StoreService) { self.service = service }

  /// Follows the database until the task is cancelled.
  func run() async {
    var number = 0
    for await _ in service.modelContainer.commits() {
      number += 1
      guard let unread = try? await service.unreadCount() else { continue }
      let event = ServerSentEvent(String(unread), name: "news", id: "\(origin)-\(number)")
      let pages = state.withLock { state in
        state.last = (event, .now)
        return Array(state.pages.values)
      }
      for page in pages { page.continuation.yield(event) }
    }
    for page in state.withLock({ $0.pages.values.map { $0 } }) { page.continuation.finish() }
  }

  /// The number of open pages.
  var pageCount: Int { state.withLock { $0.pages.count } }

  /// The time that a page may take from its rendering until it is live.
  private static let loading = Duration.seconds(10)

  /// The open pages of one address; each further one ends the oldest, which connects again if it is still visible.
  static let mostOfOnePeer = 32

  /// Returns the response that delivers events to one page until it closes.
  /// - Parameters:
  ///   - last: the identifier of the last event that the page has received, if it connects again.
  ///   - peer: the address of the client.
  func response(after last: String?, to peer: String) -> HTTPResponse {
    let (events, continuation) = AsyncStream.makeStream(
      of: ServerSentEvent.self, bufferingPolicy: .bufferingNewest(1))
    let (number, oldest) = state.withLock { state in
      let number = state.next
      state.next += 1
      let own = state.pages.filter { $0.value.peer == peer }
      let oldest = own.count < Self.mostOfOnePeer ? nil : own.keys.min().flatMap { state.pages.removeValue(forKey: $0) }
      state.pages[number] = (peer, continuation)
      // A page that connects again, or that was rendered just before a change, may have missed an event.
      let current = state.last?.event.id ?? "\(origin)-0"
      let mayLack = last.map { $0 != current } ?? state.last.map { $0.at + Self.loading > .now } ?? false
      let hello = ServerSentEvent("", name: mayLack ? "news" : "hello", id: current)
      continuation.yield(hello)
      return (number, oldest)
    }
    oldest?.continuation.finish()
    continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.pages.removeValue(forKey: number) } }
    return ServerSentEvents.response(events, heartbeat: .seconds(25))
  }
}
