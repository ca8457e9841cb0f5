public import Foundation

extension ShopifyProduct {
  /// The products of one page of a `/products.json`, in its order; what is broken is left out.
  /// - Throws: ``ShopifyAPIError/invalidResponse`` for bytes that are no such page.
  public static func page(_ data: Data) throws -> [ShopifyProduct] {
    do { return try FeedDecoder.decode(data).products } catch { throw ShopifyAPIError.invalidResponse }
  }
}
