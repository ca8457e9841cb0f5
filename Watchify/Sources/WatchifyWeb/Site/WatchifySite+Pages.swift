import Foundation
import WatchifyHTTP
import WatchifyKit

/// The pages.
extension WatchifySite {
  func show(_ context: PageContext) async throws -> HTTPResponse {
    let path = context.request.path
    switch path.first {
    case nil: return try await start(context)
    case "activity" where path.count == 1: return try await ActivityPage.page(context, service, container)
    case "feed.atom" where path.count == 1: return try await FeedResponse.response(context, service)
    case "products" where path.count == 1: return try await ProductsPage.page(context, service)
    case "shops": return try await shops(Array(path.dropFirst()), context)
    case "wishes" where path.count == 1: return try await WishesPage.page(context, service)
    case "wishes" where path.count == 2: return try await WishPage.page(try await wish(path[1]), context, service)
    case "settings" where path.count == 1: return try await SettingsPage.page(context, container)
    case "health" where path.count == 1: return try await HealthPage.page(context, service)
    case "jobs" where path.count == 2: return try await job(path[1], context)
    default: throw SiteProblem.noPage
    }
  }

  /// Returns the first page: the news if some is unread, else the products, or a form without any shop.
  private func start(_ context: PageContext) async throws -> HTTPResponse {
    if context.stores.isEmpty { return AddPage.welcome(context) }
    let link = context.unread > 0 ? Link(["activity"]) : Link(["products"])
    return .redirect(to: link.text)
  }

  private func shops(_ path: [String], _ context: PageContext) async throws -> HTTPResponse {
    guard let first = path.first else { return try await ShopsPage.page(context, service) }
    if first == "add", path.count == 1 { return AddPage.page(context) }
    let store = try knownStore(first, context.stores)
    switch (path.dropFirst().first, path.count) {
    case (nil, _): return try await ShopPage.page(store, context, service, container)
    case ("edit", 2): return try await EditPage.page(store, context, service)
    case ("remove", 2): return try await EditPage.removal(of: store, context, service)
    case ("products", 3):
      guard let id = Int64(path[2]), let detail = try await service.product(storeId: store.id, shopifyId: id) else {
        throw SiteProblem.noProduct
      }
      return try await ProductPage.page(detail, store, context, service)
    default: throw SiteProblem.noPage
    }
  }

  /// Returns the wish that a path names.
  func wish(_ id: String) async throws -> WishDTO {
    guard let id = UUID(uuidString: id), let wish = try await service.wish(id: id) else { throw SiteProblem.noWish }
    return wish
  }

  private func job(_ id: String, _ context: PageContext) async throws -> HTTPResponse {
    guard let job = await jobs.job(id) else { throw SiteProblem.noPage }
    return JobPage.page(job, context)
  }
}
