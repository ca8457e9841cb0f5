import CofferCore
import CofferTesting
import Foundation
import ReplayShop
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

/// A source of products for several shops, whose listings a test sets.
final class TestShops: ShopifyAPIProtocol {
  private struct Shop: Sendable {
    var domain: String
    var description: ShopDescription
    var reading: Result<ShopReading, SyncFailure>
  }

  private let shops = Locked<[Shop]>([])

  func serve(
    _ domain: String, name: String, currency: String = "USD", country: String? = nil, _ products: [ShopifyProduct]
  ) {
    let shop = Shop(
      domain: domain, description: ShopDescription(name: name, country: country, currency: currency),
      reading: .success(ShopReading(products: products, isComplete: true, currency: currency)))
    shops.withLock { shops in
      shops.removeAll { $0.domain == domain }
      shops.append(shop)
    }
  }

  func fail(_ domain: String, _ error: SyncFailure) {
    shops.withLock { shops in
      for index in shops.indices where shops[index].domain == domain { shops[index].reading = .failure(error) }
    }
  }

  private func shop(_ domain: String) throws -> Shop {
    guard let shop = shops.withLock({ $0.first { $0.domain == domain } }) else {
      throw SyncFailure.invalidResponse(.notShopify)
    }
    return shop
  }

  func fetchProducts(domain: String) async throws -> [ShopifyProduct] { try shop(domain).reading.get().products }
  func read(_ request: ShopRequest) async throws -> ShopReading {
    request.progress?(12, 1)
    return try shop(request.domain).reading.get()
  }
  func describe(_ request: ShopRequest) async throws -> ShopDescription { try shop(request.domain).description }
}

/// A site over a temporary database, with shops and a clock that a test sets.
final class SiteBench: Sendable {
  let shops = TestShops()
  let container: ModelContainer
  let service: StoreService
  let site: WatchifySite
  private let directory: TemporaryDirectory
  private let clock: Locked<Date>

  /// - Parameters:
  ///   - start: the date at which the clock starts, 09:00 UTC on a Wednesday.
  ///   - options: the options; the clock, the calendar and the token of forms are the bench's.
  init(_ options: SiteOptions = SiteOptions(), start: Date = Date(timeIntervalSince1970: 1_792_573_200)) async throws {
    let clock = Locked(start)
    self.clock = clock
    directory = try TemporaryDirectory()
    container = try await ModelContainer.open(at: directory.url.appendingPathComponent("watchify.db"))
    let now: @Sendable () -> Date = { clock.withLock { $0 } }
    service = await StoreService.makeBackground(container: container, api: shops, now: now)
    var options = options
    options.now = now
    options.calendar = Calendar(identifier: .gregorian)
    options.calendar.timeZone = .gmt
    options.formToken = { _ in "token-of-the-form" }
    site = WatchifySite(service: service, container: container, options: options)
  }

  static func use(_ options: SiteOptions = SiteOptions(), _ body: (SiteBench) async throws -> Void) async throws {
    let bench = try await SiteBench(options)
    do { try await body(bench) } catch {
      try? await bench.container.close()
      throw error
    }
    try await bench.container.close()
  }

  var now: Date { clock.withLock { $0 } }
  func pass(hours: Double) { clock.withLock { $0 += hours * 3_600 } }

  /// Follows a shop that serves the given products.
  @discardableResult
  func follow(_ domain: String, name: String, currency: String = "USD", _ products: [ShopifyProduct]) async throws
    -> UUID
  {
    shops.serve(domain, name: name, currency: currency, country: "US", products)
    let id = try await service.addStore(name: nil, domain: domain)
    pass(hours: 1)
    return id
  }

  /// Reads a shop after some hours.
  @discardableResult
  func read(_ id: UUID, after hours: Double = 24) async throws -> [ChangeEventDTO] {
    pass(hours: hours)
    return try await service.sync(id)
  }

  func get(_ target: String) async -> HTTPResponse { await site.respond(to: HTTPRequest("GET", target)) }

  func post(_ target: String, _ form: [(name: String, value: String)] = []) async -> HTTPResponse {
    let body = Array(FormCoding.encoded(form).utf8)
    return await site.respond(
      to: HTTPRequest(
        "POST", target, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: body))
  }
}

extension HTTPResponse {
  /// The body as text.
  var text: String {
    guard case .bytes(let bytes) = body else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension ShopifyProduct {
  /// Creates a product with one variant for each price.
  static func make(
    _ id: Int64, _ title: String, prices: [String] = ["20.00"], compareAt: String? = nil, available: Bool = true,
    images: [String] = []
  ) -> ShopifyProduct {
    ShopifyProduct(
      id: id, title: title, handle: "product-\(id)", vendor: "Maker", productType: "Thing",
      publishedAt: Date(timeIntervalSince1970: 1_700_000_000 + Double(id)), images: images.map(ShopifyImage.init),
      variants: prices.enumerated().map { index, price in
        ShopifyVariant(
          id: id * 100 + Int64(index), title: prices.count == 1 ? "Default Title" : "Size \(index + 1)",
          sku: "SKU-\(id)-\(index)", price: Price(price) ?? .zero, compareAtPrice: compareAt.flatMap { Price($0) },
          available: available, position: index + 1)
      })
  }

  /// Creates a product of a generated shop.
  init(_ product: DemoProduct) {
    self.init(
      id: Int64(product.id), title: product.title, handle: product.handle, vendor: product.vendor,
      productType: product.productType,
      publishedAt: Date(timeIntervalSince1970: 1_700_000_000 + Double(product.id % 10_000_000)),
      images: product.images.map { ShopifyImage(src: "https://cdn.shop.example/\($0.source)") },
      variants: product.variants.enumerated().map { index, variant in
        ShopifyVariant(
          id: Int64(variant.id), title: product.variants.count == 1 ? "Default Title" : variant.title, sku: variant.sku,
          price: Price(tenThousandths: Int64(variant.price) * 100),
          compareAtPrice: variant.compareAt.map { Price(tenThousandths: Int64($0) * 100) },
          available: variant.isAvailable, position: index + 1)
      })
  }
}
