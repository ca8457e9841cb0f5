public import Foundation

extension ShopifyProduct {
  /// Decodes a page of `/products.json` and returns its products in order. Undecodable products and variants are
  /// omitted.
  /// - Throws: ``ShopifyAPIError/invalidResponse`` if the data is not such a page.
  public static func page(_ data: Data) throws -> [ShopifyProduct] {
    do { return try FeedDecoder.decode(data).products } catch { throw ShopifyAPIError.invalidResponse }
  }
}
