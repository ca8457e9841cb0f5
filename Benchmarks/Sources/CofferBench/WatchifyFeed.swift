import Foundation
import ReplayShop
import WatchifyKit

/// Measures decoding a page of a feed, against `JSONDecoder` with the same result.
func measureFeed(_ bench: inout Bench) async throws {
  let page = ShopGenerator(seed: 25, products: 250).feed.json(of: 0..<250)
  let size = Double(page.count) / 1e6
  let decoder = JSONDecoder()
  decoder.dateDecodingStrategy = .iso8601
  let expected = try ShopifyProduct.page(page)
  let same = try decoder.decode(WirePage.self, from: page).values
  precondition(expected.count == 250 && same == expected)
  print("a page of 250 products: \(size.short) MB")
  try await bench.measure(
    "watchify.decode", count: 10,
    [
      Variant(subject: "jsondecoder") { first, count in
        try await each(first, count) { _ in
          let products = try decoder.decode(WirePage.self, from: page).values
          precondition(products.count == 250)
        }
      },
      Variant(subject: "watchify", limit: Limit(subject: "jsondecoder", maximumRatio: 0.5)) { first, count in
        try await each(first, count) { _ in
          let products = try ShopifyProduct.page(page)
          precondition(products.count == 250)
        }
      },
    ])
}

/// The same members, with decoding synthesized by the compiler.
private struct WirePage: Decodable {
  struct Product: Decodable {
    var id: Int64
    var title, handle: String
    var vendor, productType: String?
    var createdAt, publishedAt: Date?
    var images: [Image]
    var variants: [Variant]

    enum CodingKeys: String, CodingKey {
      case id, title, handle, vendor, images, variants
      case productType = "product_type"
      case createdAt = "created_at"
      case publishedAt = "published_at"
    }
  }
  struct Image: Decodable { var src: String }
  struct Variant: Decodable {
    var id: Int64
    var title: String
    var sku: String?
    var price: String
    var compareAtPrice: String?
    var available: Bool
    var position: Int

    enum CodingKeys: String, CodingKey {
      case id, title, sku, price, available, position
      case compareAtPrice = "compare_at_price"
    }
  }
  var products: [Product]

  var values: [ShopifyProduct] {
    products.map { product in
      ShopifyProduct(
        id: product.id, title: product.title, handle: product.handle, vendor: product.vendor,
        productType: product.productType, createdAt: product.createdAt, publishedAt: product.publishedAt,
        images: product.images.map { ShopifyImage(src: $0.src) },
        variants: product.variants.map {
          ShopifyVariant(
            id: $0.id, title: $0.title, sku: $0.sku, price: Price($0.price) ?? .zero,
            // A crossed-out price of zero is none.
            compareAtPrice: $0.compareAtPrice.flatMap { Price($0) }.flatMap { $0 == .zero ? nil : $0 },
            available: $0.available, position: $0.position)
        })
    }
  }
}
