import CofferRouter
import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

/// The feed of the page, which has the filters of the activity page.
@Suite(.serialized) struct FeedTests {
  @Test func theFeedShowsWhatThePageShows() async throws {
    try await SiteBench.use { bench in
      let store = try await bench.follow("tarn.example", name: "Tarn", [.make(1, "Mat", prices: ["20.00"])])
      let wish = try await bench.service.addWish(.product(storeId: store, productId: 1), .priceAtMost(15))
      bench.shops.serve("tarn.example", name: "Tarn", country: "US", [.make(1, "Mat", prices: ["10.00"])])
      try await bench.read(store)
      let all = await bench.get("/feed.atom")
      #expect(all.status == 200 && all.header("Content-Type") == "application/atom+xml; charset=utf-8")
      #expect(all.text.components(separatedBy: "<entry>").count == 3, "the price and the wish")
      let prices = await bench.get("/feed.atom?type=price&store=\(store)")
      #expect(prices.text.components(separatedBy: "<entry>").count == 2 && prices.text.contains("priceDropped"))
      let wishes = await bench.get("/feed.atom?wish=\(wish.id)")
      #expect(wishes.text.components(separatedBy: "<entry>").count == 2 && wishes.text.contains("wishFulfilled"))
      #expect(await bench.get("/feed.atom?wish=\(UUID())").text.contains("<entry>") == false)
      for wrong in ["wish=x", "type=x", "store=x", "since=x"] {
        #expect(await bench.get("/feed.atom?\(wrong)").status >= 400, "\(wrong)")
      }
      // The number of unread pieces is the same wherever it is shown.
      let unread = try await bench.service.unreadCount()
      #expect(unread == 2)
      #expect(await bench.get("/activity").text.contains("<title>(2) "))
    }
  }

  @Test func picturesFollowTheSetting() async throws {
    try await SiteBench.use { bench in
      let image = "https://cdn.shop.example/mat.png"
      let store = try await bench.follow("tarn.example", name: "Tarn", [.make(1, "Mat", images: [image])])
      func page(_ pictures: ProductPictures) async throws -> HTTPResponse {
        try await bench.container.settings.set(pictures, for: StorageKeys.pagePictures)
        return await bench.get("/products")
      }
      #expect(try await page(.cached).text.contains("/pictures/\(store.uuidString.lowercased())/1/0"))
      let direct = try await page(.direct)
      #expect(direct.text.contains(image))
      #expect(direct.header("Content-Security-Policy")?.contains("img-src 'self' https:") == true)
      let off = try await page(.off)
      #expect(!off.text.contains("<img") && off.header("Content-Security-Policy")?.contains("https:") == false)
    }
  }
}
