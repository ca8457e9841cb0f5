import CofferTesting
import Foundation
import Testing
import WatchifyKit

@testable import WatchifyWeb

private let pictureFolder = ProcessInfo.processInfo.environment["WATCHIFY_PICTURES"]

/// Takes the pictures of the pages, for people to look at: `./run pictures`.
@Suite(.serialized, .enabled(if: pictureFolder != nil, "only with WATCHIFY_PICTURES, as ./run pictures sets it"))
struct PictureTests {
  /// Lets four weeks pass in which prices and stock change, and makes wishes.
  private static func passWeeks(_ served: ServedBench) async throws {
    let service = served.bench.service
    func wish(_ scope: WishScope, _ condition: WishCondition) async throws {
      _ = try await service.addWish(scope, condition)
    }
    try await wish(.product(storeId: served.store, productId: served.products[0].id), .priceAtMost(45))
    try await wish(.search(storeId: nil, text: "rain jacket"), .percentOff(20))
    try await wish(.product(storeId: served.store, productId: served.products[4].id), .backInStock)
    let prices: [Int: Int64] = [3: 84, 8: 97, 12: 72, 20: 61, 27: 67]
    try await served.live { day, products in
      if let price = prices[day] {
        for index in products[0].variants.indices {
          products[0].variants[index].price = .init(tenThousandths: price * 10_000)
        }
      }
      if day == 14 || day == 18 {
        for index in products[0].variants.indices { products[0].variants[index].available = day == 18 }
      }
      let other = 2 + day % 9
      if day % 3 == 0 {
        let old = products[other].variants[0].price.tenThousandths
        for index in products[other].variants.indices {
          products[other].variants[index].price = .init(tenThousandths: old / 10_000 * (day % 2 == 0 ? 8_500 : 10_800))
        }
      }
      if day % 5 == 0 { products[other].variants[0].available.toggle() }
      return day < 28
    }
    let (last, all) = (
      served.bench.now.addingTimeInterval(-30 * 3_600), try await service.events(EventFilter(), limit: 500)
    )
    try await service.markRead(ids: all.filter { $0.occurredAt < last }.map(\.id))
  }

  /// A process that watches, with two channels.
  private static func adapt(_ options: inout SiteOptions) {
    options.pictures = .off  // The servers of the invented shop's pictures do not exist.
    let now = options.now
    options.health = {
      SiteHealth(
        isWatching: true, next: now().addingTimeInterval(1_260),
        channels: [
          .init(name: "desktop", isWorking: true, detail: "gnome-shell 43.9"),
          .init(name: "phone", isWorking: true, detail: "ntfy at ntfy.sh, delivered 09:39"),
        ])
    }
  }

  @Test func takePictures() async throws {
    let folder = URL(fileURLWithPath: try #require(pictureFolder), isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await ServedBench.use(options: Self.adapt) { served in
      try await Self.passWeeks(served)
      let shop = "/shops/\(served.store.uuidString.lowercased())"
      let wish = try await served.bench.service.wishes().first?.id.uuidString ?? ""
      let pages = [
        ("activity", "/activity"), ("products", "/products"), ("product", "\(shop)/products/\(served.products[0].id)"),
        ("wishes", "/wishes"), ("wish", "/wishes/\(wish)"), ("settings", "/settings"), ("health", "/health"),
        ("shops", "/shops"), ("shop", shop), ("edit", "\(shop)/edit"), ("remove", "\(shop)/remove"),
        ("add", "/shops/add"), ("nowhere", "/nowhere"),
      ]
      try await take(pages.map { ($0, served.url + $1) }, into: folder)
      let hostile = (try await served.followHostileShop() + ["/settings"]).enumerated().map {
        ("hostile-\($0)", served.url + $1)
      }
      try await take(hostile, into: folder, whole: true)
    }
    try await ServedBench.use(ServedBench.requireToken) {
      try await take([("login", $0.url + "/")], into: folder)
    }
  }

  /// Takes pictures of pages in all forms.
  /// - Parameter whole: whether they show more than fits into the window.
  private func take(_ pages: [(String, String)], into folder: URL, whole: Bool = false) async throws {
    try await ChromeDriver.run { driver in
      let browser = try await Browser(driver)
      for (form, width, isDark) in [("light", 1_280, false), ("dark", 1_280, true), ("phone", 390, false)] {
        try await browser.setSize(width, 860)
        try await browser.setDark(isDark)
        for (name, address) in pages {
          try await browser.open(address)
          let file = folder.appendingPathComponent("page-\(name)-\(form).png")
          try await browser.picture(whole: whole).write(to: file)
          #expect(try Data(contentsOf: file).count > 5_000, "\(name), \(form)")
        }
      }
      try await browser.close()
    }
  }
}
