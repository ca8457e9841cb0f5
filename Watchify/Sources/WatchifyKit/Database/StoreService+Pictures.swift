import CofferSQLite
public import Foundation

extension StoreService {
  /// Returns the address of a product's picture as its shop states it, and whether the shop is on this device; `nil` if
  /// there is no such picture.
  /// - Parameters:
  ///   - storeId: the store.
  ///   - productId: the product.
  ///   - number: the position of the picture, from 0.
  /// - Throws: `StorageError`.
  public func pictureAddress(
    storeId: UUID, productId: Int64, number: Int
  ) async throws -> (address: String, isLocal: Bool)? {
    try await database.read { transaction in
      guard let store = try StoreRecord.find(storeId, in: transaction) else { return nil }
      let images = try transaction.query(
        "SELECT images FROM products WHERE store = ?1 AND id = ?2", [.integer(store.no), .integer(productId)]
      ) { CatalogueRows.images($0.text(0)) }.first
      guard let images, images.indices.contains(number) else { return nil }
      let isLocal = (try? ShopAddress(store.domain))?.isLoopback ?? false
      return (images[number], isLocal)
    }
  }
}
