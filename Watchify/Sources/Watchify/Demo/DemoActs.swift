import CofferTerminal
import Foundation
import ReplayShop
import WatchifyKit
import WatchifyWeb

/// The acts of the demo.
extension Demo {
  func follow() async throws -> UUID {
    try await begin("Following a shop")
    let address = shop.server.url?.absoluteString ?? ""
    try say(output.style.dim("  watchify add \(address)"))
    let id = try await shop.service.addStore(name: nil, domain: address)
    let store = try await store(id)
    let variants = try await shop.service.variantCount(storeId: id)
    try say("  \(store.name): Shopify, prices in \(store.currency ?? "?") (country \(store.country ?? "?"))")
    try say(
      "  Imported \(counted(store.cachedProductCount, "product")), \(counted(variants, "variant")). "
        + "No alerts for what is already there.")
    try expect(store.cachedProductCount == 48 && variants > 48, "all products are imported")
    try expect(store.currency == "USD", "the currency is the one that the shop states")
    try expect(try await shop.service.events(EventFilter()).isEmpty, "an import reports no news")
    return id
  }

  func quietRead(_ id: UUID) async throws {
    try await begin("Syncing it again, with nothing new")
    let points = try await shop.service.snapshotCount()
    let news = try await read(id)
    let texts = try await notify(news)
    try say("  Nothing new: nothing reported, nothing written.")
    try expect(news.isEmpty && texts.isEmpty, "a sync without news is quiet")
    try expect(try await shop.service.snapshotCount() == points, "a sync without news writes no price point")
  }

  func priceDrop(_ id: UUID) async throws {
    try await begin("A wish, and a price drop")
    let wish = try await wish(for: id)
    try shop.server.advance()
    let news = try await read(id, after: 72)
    try show(news)
    let texts = try await notify(news)
    let drops = news.filter { $0.changeType == .priceDropped }
    try expect(!drops.isEmpty && Set(drops.map(\.productTitle)).count == 1, "one product costs less")
    try expect(texts.count == 2 && texts[0].contains("$67.90, below your $70.00"), "the wish came true")
    try expect(texts.last?.contains("$67.90, was $97.00") == true, "one notification reports the drop")
    try expect(try await shop.service.wish(id: wish)?.isTrue == true, "the wish is shown as true")
  }

  /// Wishes for a price of the product that will cost less.
  private func wish(for id: UUID) async throws -> UUID {
    let found = try await shop.service.products(storeId: id, named: "tarn-cork-mat")
    guard let mat = found.first else { throw WishError.noSubject }
    try say(output.style.dim("  watchify wish '\(try await store(id).name)/\(mat.handle)' --below 70"))
    let wish = try await shop.service.addWish(.product(storeId: id, productId: mat.shopifyId), .priceAtMost(70))
    try say("  Wish \(wish.shortID): \(wish.sentence(at: shop.now)).")
    try expect(!wish.isTrue, "the wish is not true yet")
    return wish.id
  }

  func restock(_ id: UUID) async throws {
    try await begin("One size is back")
    try shop.server.advance()
    let news = try await read(id, after: 48)
    try show(news)
    let texts = try await notify(news)
    let back = news.filter { $0.changeType == .backInStock }
    try expect(back.count == 1 && back[0].variantTitle != nil, "exactly one size is back, and it has a name")
    try expect(texts.count == 1 && texts[0].contains("back in stock"), "one notification reports it")
  }

  func refusal(_ id: UUID) async throws {
    try await begin("The shop refuses: too many requests")
    shop.server.script([.fault(.status(429, retryAfter: "60"))])
    let (before, points) = (try await store(id), try await shop.service.snapshotCount())
    var isResting = false
    do {
      try await read(id, after: 24)
    } catch SyncFailure.invalidResponse(.resting(let until, _)) {
      isResting = true
      try say("  Paused until \(Moment.time(until)): no process syncs the shop before then.")
    }
    let after = try await store(id)
    let asked = shop.server.requests.count
    var isHeld = false
    do { try await read(id, after: 0.02) } catch { isHeld = shop.server.requests.count == asked }
    let since = before.lastFetchedAt.map { Moment.text($0) } ?? "?"
    try say("  \(counted(after.cachedProductCount, "product")) as before; showing data from \(since). Nothing removed.")
    try expect(isResting && isHeld, "a refusal causes a pause")
    let isUnchanged =
      before.cachedProductCount == after.cachedProductCount && before.lastFetchedAt == after.lastFetchedAt
    try expect(isUnchanged, "a refusal changes nothing")
    try expect(try await shop.service.snapshotCount() == points, "a refusal writes no price point")
  }

  /// Runs the remaining steps of the timeline: a new product, a price increase, and a product that is removed and
  /// returns.
  func rest(of id: UUID) async throws {
    try await begin("A week later")
    var types: Set<ChangeType> = []
    var texts: [String] = []
    while let step = try shop.server.advance() {
      // A product counts as removed after two complete reads without it.
      for _ in 0..<(step.contains("gone") ? 2 : 1) {
        let news = try await read(id, after: 20)
        try show(news)
        texts += try await notify(news)
        types.formUnion(news.map(\.changeType))
      }
    }
    try expect(
      types.isSuperset(of: [.newProduct, .priceIncreased, .productRemoved, .productReturned]),
      "a new product, a higher price, and one that went and came back are distinguished")
    try expect(texts.count == 4, "each sync with news is one notification")
  }

  func showNews(_ id: UUID) async throws {
    try await begin("Everything that happened")
    try say(output.style.dim("  watchify activity"))
    let groups = ActivityGroup.groups(of: try await shop.service.events(EventFilter(), limit: 200), windowMinutes: 5)
    let text = activityText(groups, namesStores: false, output, margin: 2)
    try say(text.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
    try expect(groups.count >= 6, "each piece of news is one row")
    try expect(try await shop.service.unreadCount() > 0, "news is unread until it is marked as read")
  }

  func showChart(_ id: UUID) async throws {
    try await begin("The price that dropped")
    let drops = try await shop.service.events(EventFilter(storeId: id, changeTypes: [.priceDropped]))
    guard let drop = drops.last, let product = drop.productShopifyId,
      let detail = try await shop.service.product(storeId: id, shopifyId: product), let variant = liveliest(detail)
    else { return try expect(false, "the product that dropped has a history") }
    try say(output.style.dim("  watchify product '\(try await store(id).name)' \(detail.product.handle)"))
    try say("  " + output.style.bold(detail.product.title))
    let text = chart(
      variant, currency: detail.product.currency, width: min(output.columns, 82) - 2, glyphs: .ofEnvironment,
      style: output.style, until: shop.now)
    try say(text.split(separator: "\n").map { "  " + $0 }.joined(separator: "\n"))
    try expect(
      variant.history.count == 2 && variant.history[1].price < variant.history[0].price,
      "the history has the old price and the new one")
  }

  // MARK: Steps

  private func store(_ id: UUID) async throws -> StoreDTO {
    guard let store = try await shop.service.stores().first(where: { $0.id == id }) else {
      throw SyncFailure.storeNotFound
    }
    return store
  }

  /// Advances the clock by some hours and syncs the shop.
  @discardableResult
  private func read(_ id: UUID, after hours: Double = 24) async throws -> [ChangeEventDTO] {
    shop.pass(hours: hours)
    return try await shop.service.sync(id)
  }

  private func show(_ news: [ChangeEventDTO]) throws {
    for group in ActivityGroup.groups(of: news.reversed(), windowMinutes: 5).reversed() {
      try say("  \(group.events.first?.productTitle.oneLine() ?? ""): \(group.text)")
    }
  }
}
