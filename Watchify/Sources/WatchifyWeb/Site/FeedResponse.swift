import Foundation
import WatchifyHTTP
import WatchifyKit

/// Serves `/feed.atom`, the news for readers of feeds, with the filters of the activity page or those of one wish.
enum FeedResponse {
  static func response(_ context: PageContext, _ service: StoreService) async throws -> HTTPResponse {
    let items = context.request.query
    let origin =
      context.options.origin
      ?? context.request.header("Host").map { "\(context.request.isSecure ? "https" : "http")://\($0)" }
    let address = origin.map { $0 + Link(["feed.atom"], items.filter { $0.name != SiteAccess.feedField }).text }
    let feed: AtomFeed
    if let text = items.first(where: { $0.name == "wish" })?.value {
      guard let wish = UUID(uuidString: text) else {
        throw SiteProblem.value("wish", text, "the identifier of a wish")
      }
      feed = try await service.feed(ofWish: wish, address: address)
    } else {
      let query = try ActivityQuery(items, stores: context.stores, moments: context.moments)
      feed = try await service.feed(query.filter(context.moments), address: address)
    }
    return HTTPResponse(200, "application/atom+xml; charset=utf-8", Array(feed.rendered()))
  }
}
